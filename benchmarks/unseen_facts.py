"""Facts into sentences on categories that training does not have: slots, runs of copies, neither.

Run as `python -m benchmarks.unseen_facts --data FOLDER --out FOLDER`. FOLDER has train.jsonl(.gz)
and dev.jsonl(.gz), sets of facts with a `category` each, such as those of webnlg. Trains
`webnlg_graph` on the categories that are not held out, and scores dev's sets of these and of those
that are; with `--only` some of `SYSTEMS`. What has been trained before in the folder is taken as it
is. Writes the table to FOLDER/table.md and prints it: sacreBLEU and chrF against all references,
and the shares of `fact_metrics`.
"""

import gzip
import json
from pathlib import Path

from benchmarks import trainings
from benchmarks.facts_to_sentences import PIECES
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
        for kind, place in folders.items():
            chosen = [line for line in lines if (line["category"] in held_out) == (kind == UNSEEN)]
            trainings.write_lines(place / f"{split}.jsonl", chosen)
    return folders


def compare(data, out, values=None, held_out=HELD_OUT, systems=SYSTEMS) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of sets of facts.
        out: folder of the runs.
        values: values of fields in all trainings.
        held_out: names of the categories that are not trained on.
        systems: some of `SYSTEMS`.
    """
    folders = divided(data, Path(out) / "facts", held_out)
    return trainings.write_table(out, HEADS, _rows(folders, Path(out), values or {}, systems))


def _rows(folders, out, values, systems):
    for name, system in systems.items():
        experiment = RECIPE.replaced({**values, **system})
        run = trainings.ended_run(experiment, folders[SEEN], out / trainings.file_stem(name), NAME)
        for kind, folder in folders.items():
            evaluation = evaluate(run, folder, "dev")
            yield [name, kind, evaluation.count, *trainings.fact_cells(evaluation.scores)]


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of sets of facts", "every system")
    parser.add_argument("--held-out", nargs="+", default=HELD_OUT, metavar="CATEGORY")
    parser.add_argument("--only", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    given = parser.parse_args()
    values = trainings.given_values(epochs=given.epochs)
    some = {name: SYSTEMS[name] for name in given.only}
    print(compare(given.data, given.out, values, given.held_out, some))
