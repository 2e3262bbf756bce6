"""Three ways to take a language model to a new domain: perplexity on the old and the new one.

Run as `python -m benchmarks.progressive_memory --captions FOLDER --reviews FOLDER --out FOLDER`.
The first domain is the English of Multi30k (train.en.gz, val.en.gz, test_2016_flickr.en.gz), the
second the sentences of film reviews of Pang and Lee 2005 (rt-polarity.pos and .neg), of which the
first fold of `benchmarks.sentence_polarity` is taken. A model is trained on the captions; then it
goes on with the reviews by fine-tuning, with a larger state, or with more slots in its memory. All
three add the words of the reviews to the vocabulary. What has been trained before in the folder is
taken as it is. Writes the table to FOLDER/table.md and prints it: parameters, and test perplexity
on both domains.
"""

import argparse
import json
from pathlib import Path

from benchmarks.ended_runs import ended_run
from benchmarks.sentence_polarity import sentences, splits
from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.progressive_memory import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart

NAME = "progressive_memory"
FIRST = "captions alone"
PLANS = {
    "then reviews: fine-tuning": {},
    "then reviews: larger state": {"hidden_dim": 192},
    "then reviews: larger memory": {"slots": (64, 64)},
}
HEADS = "training", "parameters", "captions", "unknown, %", "reviews", "unknown, %"


def written(folder: Path, texts) -> Path:
    """The folder of a domain's sentences: train.txt, dev.txt and test.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in texts.items():
        with whole_file(folder / f"{name}.txt") as partial:
            partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def trained(values, data, out: Path, source: Path | None = None) -> Run:
    """The run in a folder, which goes on from another or begins anew; see `ended_run`."""
    start = WarmStart.read(source) if source else None
    experiment = start.adapted(RECIPE, values) if start else RECIPE.replaced(values)
    return ended_run(experiment, data, out, NAME, start)


def row(name: str, run: Run, folders) -> str:
    """A row of the table; what was measured is kept beside the run."""
    path = run.folder / "perplexities.json"
    if not path.is_file():
        scores = [evaluate(run, folder, "test").scores for folder in folders]
        measured = {"parameters": run.model().count_params(), "scores": scores}
        with whole_file(path) as partial:
            partial.write_text(json.dumps(measured), encoding="utf-8")
    measured = json.loads(path.read_text(encoding="utf-8"))
    cells = [
        cell
        for scores in measured["scores"]
        for cell in (f"{scores['perplexity']:.1f}", f"{100 * scores['unknown']:.1f}")
    ]
    return f"| {name} | {measured['parameters']:,} | {' | '.join(cells)} |"


def compare(captions, reviews, out, values=None, plans=PLANS) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        captions: folder of the first domain, files with the suffix en.
        reviews: folder of the second.
        out: folder of the runs.
        values: values of fields in all trainings.
        plans: dict from names to further field values.
    """
    out, values = Path(out), dict(values or {})
    source = RECIPE.replaced({"suffix": "en"}).source
    first = {name: source.split(captions, name) for name in ("train", "dev", "test")}
    second = splits(sentences(reviews), 0)
    texts = {
        "captions": {name: [one.source for one in found] for name, found in first.items()},
        "reviews": {name: [text for text, _ in pairs] for name, pairs in second.items()},
    }
    folders = [written(out / f"{domain}_texts", split) for domain, split in texts.items()]
    start = trained(values, folders[0], out / "captions")
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}", row(FIRST, start, folders)]
    print(rows[-1], flush=True)
    for name, plan in plans.items():
        folder = out / name.rpartition(": ")[2].replace(" ", "_")
        run = trained({**values, **plan}, folders[1], folder, start.folder)
        rows.append(row(name, run, folders))
        print(rows[-1], flush=True)
    table = "\n".join(rows)
    with whole_file(out / "table.md") as partial:
        partial.write_text(f"{table}\n", encoding="utf-8")
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", required=True, help="folder of Multi30k")
    parser.add_argument("--reviews", required=True, help="folder of the film reviews")
    parser.add_argument("--out", required=True, help="folder, new or with some of the runs")
    given = parser.parse_args()
    print(compare(given.captions, given.reviews, given.out))
