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

from pathlib import Path

from benchmarks import trainings
from benchmarks.sentence_polarity import sentences, splits
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


def write_texts(folder: Path, texts) -> Path:
    """The folder of a domain's sentences: train.txt, dev.txt and test.txt, which are written."""
    for name, lines in texts.items():
        trainings.write(folder / f"{name}.txt", "".join(f"{line}\n" for line in lines))
    return folder


def trained(values, data, out: Path, source: Path | None = None) -> Run:
    """The run in a folder, which goes on from another or begins anew; see `ended_run`."""
    start = WarmStart.read(source) if source else None
    experiment = start.adapted(RECIPE, values) if start else RECIPE.replaced(values)
    return trainings.ended_run(experiment, data, out, NAME, source=start)


def measured(run: Run, folders) -> dict:
    """Parameters of a run, and its scores on each domain."""
    scores = [evaluate(run, folder, "test").scores for folder in folders]
    return {"parameters": run.model().count_params(), "scores": scores}


def row(name: str, run: Run, folders) -> list[str]:
    """A row of the table; what was measured stays beside the run."""
    record = trainings.recorded(run.folder / "perplexities.json", measured, run, folders)
    cells = [name, f"{record['parameters']:,}"]
    for scores in record["scores"]:
        cells += [f"{scores['perplexity']:.1f}", f"{100 * scores['unknown']:.1f}"]
    return cells


def compare(captions, reviews, out, values=None, plans=PLANS) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        captions: folder of the first domain, files with the suffix en.
        reviews: folder of the second.
        out: folder of the runs.
        values: values of fields in all trainings.
        plans: dict from names to further field values.
    """
    out, source = Path(out), RECIPE.replaced({"suffix": "en"}).source
    first = {name: source.split(captions, name) for name in ("train", "dev", "test")}
    second = splits(sentences(reviews), 0)
    texts = {
        "captions": {name: [pair.source for pair in pairs] for name, pairs in first.items()},
        "reviews": {name: [text for text, _ in pairs] for name, pairs in second.items()},
    }
    folders = [write_texts(out / f"{domain}_texts", split) for domain, split in texts.items()]
    return trainings.write_table(out, HEADS, _rows(folders, out, values or {}, plans))


def _rows(folders, out, values, plans):
    start = trained(values, folders[0], out / "captions")
    yield row(FIRST, start, folders)
    for name, plan in plans.items():
        folder = out / trainings.file_stem(name.rpartition(": ")[2])
        yield row(name, trained({**values, **plan}, folders[1], folder, start.folder), folders)


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "")
    parser.add_argument("--captions", required=True, help="folder of Multi30k")
    parser.add_argument("--reviews", required=True, help="folder of the film reviews")
    given = parser.parse_args()
    print(compare(given.captions, given.reviews, given.out))
