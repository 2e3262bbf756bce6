"""Facts into sentences on categories that training does not have: slots, runs of copies, neither.

Run as `python -m benchmarks.unseen_facts --data FOLDER --out FOLDER`. FOLDER has train.jsonl(.gz)
and dev.jsonl(.gz), sets of facts with a `category` each, such as those of webnlg. Trains
`webnlg_graph` on the categories that are not held out, and scores dev's sets of these and of those
that are. What has been trained before in the folder is taken as it is. Writes the table to
FOLDER/table.md and prints it: sacreBLEU and chrF against all references, and the shares of
`fact_metrics`.
"""

import argparse
import gzip
import json
from pathlib import Path

from benchmarks.ended_runs import ended_run
from benchmarks.facts_to_sentences import PIECES
from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.webnlg_graph import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate

NAME = "webnlg_graph"
HELD_OUT = ("Astronaut", "ComicsCharacter", "SportsTeam", "University")
SYSTEMS = {
    "slots": {},
    "runs of copies": {**PIECES, "longest_run": 4},
    "neither": PIECES,
}
SEEN, UNSEEN = KINDS = ("seen", "unseen")
HEADS = "system", "categories", "sets", "BLEU", "chrF", "order", "mentioned", "copied"
SHARES = ("order", "mentioned", "copied")


def records(data, split: str) -> list[dict]:
    """The lines of a split, as JSON objects."""
    for suffix, opened in ((".jsonl", open), (".jsonl.gz", gzip.open)):
        path = Path(data, f"{split}{suffix}")
        if path.is_file():
            with opened(path, "rt", encoding="utf-8") as file:
                return [json.loads(line) for line in file]
    raise ValueError(f"Expected {split}.jsonl or {split}.jsonl.gz in {data}. Received: neither")


def divided(data, folder: Path, held_out) -> dict[str, Path]:
    """Folders of the sets of seen and of unseen categories, which are written."""
    folders = {kind: folder / kind for kind in KINDS}
    for split in ("train", "dev"):
        lines = records(data, split)
        for kind, own in folders.items():
            own.mkdir(parents=True, exist_ok=True)
            chosen = [line for line in lines if (line["category"] in held_out) == (kind == UNSEEN)]
            with whole_file(own / f"{split}.jsonl") as partial:
                partial.write_text("".join(f"{json.dumps(line)}\n" for line in chosen))
    return folders


def compare(data, out, values=None, held_out=HELD_OUT) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of sets of facts.
        out: folder of the runs.
        values: values of fields in all trainings.
        held_out: names of the categories that are not trained on.
    """
    out = Path(out)
    folders = divided(data, out / "facts", held_out)
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    for name, own in SYSTEMS.items():
        experiment = RECIPE.replaced({**(values or {}), **own})
        run = ended_run(experiment, folders[SEEN], out / name.replace(" ", "_"), NAME)
        for kind, folder in folders.items():
            found = evaluate(run, folder, "dev")
            cells = [f"{found.scores[key]:.1f}" for key in ("bleu", "chrf")]
            cells += [f"{100 * found.scores[key]:.1f}%" for key in SHARES]
            rows.append(f"| {name} | {kind} | {found.count} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    text = "\n".join(rows)
    with whole_file(out / "table.md") as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")
    return text


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True, help="folder, new or with some of the runs")
    parser.add_argument("--held-out", nargs="+", default=HELD_OUT, metavar="CATEGORY")
    parser.add_argument("--epochs", type=int, help="of every system; default: the recipe's")
    known = parser.parse_args()
    values = {"epochs": known.epochs} if known.epochs else {}
    print(compare(known.data, known.out, values, known.held_out))


if __name__ == "__main__":
    main()
