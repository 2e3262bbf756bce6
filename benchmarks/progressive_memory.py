"""Ways to take a language model to a new domain: perplexity on the old and the new one.

Run as `python -m benchmarks.progressive_memory --captions FOLDER --reviews FOLDER --out FOLDER`.
The first domain is the English of Multi30k (train.en.gz, val.en.gz, test_2016_flickr.en.gz), the
second the sentences of film reviews of Pang and Lee 2005 (rt-polarity.pos and .neg), of which the
first fold of `benchmarks.sentence_polarity` is taken; with --reviews-first it is the other way
round. A model is trained on the first domain; then it goes on with the second by fine-tuning, with
more slots in its memory, or with a state that makes it as large as the most slots do. All of them
add the words of the second domain to the vocabulary. --hidden-dim sets the units of the state.
What has been trained before in the folder is taken as it is. Writes the table to FOLDER/table.md
and prints it: parameters, test perplexity on both domains, and how much of the attention reads the
new slots; perplexities and shares are means over the seeds with their standard errors.
"""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import tensorflow as tf

from benchmarks import trainings
from benchmarks.sentence_polarity import sentences, splits
from keras_attn.checks import check_sizes
from keras_attn.contracts import SOURCE_PIECES, WEIGHTS
from keras_attn_pipelines.recipes.progressive_memory import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.warm_start import WarmStart

NAME = "progressive_memory"
CAPTIONS, REVIEWS = "captions", "reviews"
PLANS = {
    "fine-tuning": {},
    "64 more slots": {"slots": (64, 64)},
    "512 more slots": {"slots": (64, 512)},
}
HEADS = (
    "training",
    "parameters",
    *(head for domain in (CAPTIONS, REVIEWS) for head in (domain, "unknown, %", "on new slots, %")),
)
BATCH = 64
"""Sentences whose attention is computed at once."""


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


def on_new_slots(service, texts) -> float | None:
    """Share of the attention, over all words of texts, on the slots of the last domain."""
    slots = service.model.slots
    if len(slots) == 1:
        return None
    function, _ = service.signatures()["explain"]
    read = words = 0.0
    for start in range(0, len(texts), BATCH):
        answers = function(tf.constant(texts[start : start + BATCH]))
        real = answers[SOURCE_PIECES].numpy() != b""
        read += answers[WEIGHTS].numpy()[real][:, -slots[-1] :].sum()
        words += real.sum()
    return float(read / words)


def measured(run: Run, folders, texts) -> dict:
    """Parameters of a run, and its scores and share of new slots on each domain."""
    scores = [evaluate(run, folder, "test").scores for folder in folders]
    service = run.service()
    shares = [on_new_slots(service, lines) for lines in texts]
    return {"parameters": service.model.count_params(), "scores": scores, "shares": shares}


def row(name: str, runs: Sequence[Run], folders, texts) -> list[str]:
    """A row of the table, of one run a seed; what was measured stays beside each run."""
    records = [
        trainings.recorded(run.folder / "perplexities.json", measured, run, folders, texts)
        for run in runs
    ]
    cells = [name, f"{records[0]['parameters']:,}"]
    for domain in range(len(folders)):
        scores = [record["scores"][domain] for record in records]
        shares = [record["shares"][domain] for record in records]
        cells.append(trainings.mean_and_error([score["perplexity"] for score in scores]))
        cells.append(f"{100 * scores[0]['unknown']:.1f}")
        new = None not in shares
        cells.append(trainings.mean_and_error([100 * share for share in shares], 0) if new else "")
    return cells


def units_instead(model) -> int:
    """Units that a model with the first domain's slots alone needs to be as large as this one."""
    units, first = model.hidden_dim, model.slots[0]
    saved = sum(model.slots[1:]) * (units + model.memory_dim)
    inputs = model.embedding_dim + model.memory_dim
    return next(
        units + more
        for more in count()
        if more * (model.vocabulary_size + first + 4 * (inputs + 2 * units + more + 1)) >= saved
    )


def compare(
    captions, reviews, out, values=None, plans=PLANS, order=(CAPTIONS, REVIEWS), seeds: int = 3
) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        captions: folder with the files of the captions, with the suffix en.
        reviews: folder with those of the reviews.
        out: folder of the runs.
        values: values of fields in all trainings.
        plans: dict from names to further field values; the last is that of the largest memory.
        order: of the domains.
        seeds: number of trainings of each row; their seeds are 0, 1, …
    """
    check_sizes(seeds=seeds)
    out, source = Path(out), RECIPE.replaced({"suffix": "en"}).source
    described = {name: source.split(captions, name) for name in ("train", "dev", "test")}
    reviewed = splits(sentences(reviews), 0)
    texts = {
        CAPTIONS: {name: [pair.source for pair in pairs] for name, pairs in described.items()},
        REVIEWS: {name: [text for text, _ in pairs] for name, pairs in reviewed.items()},
    }
    folders = {domain: write_texts(out / f"{domain}_texts", texts[domain]) for domain in texts}
    asked = list(folders.values()), [texts[domain]["test"] for domain in texts]
    chains = [
        _chain(folders, out / f"seed_{seed}", {**(values or {}), "seed": seed}, plans, order)
        for seed in range(seeds)
    ]
    rows = (row(names[0], runs, *asked) for names, runs in (zip(*same) for same in zip(*chains)))
    return trainings.write_table(out, HEADS, rows)


def _chain(folders, out, values, plans, order):
    """Name and run of each row, trained with one seed."""
    first, second = order
    start = trained(values, folders[first], out / first)
    yield f"{first} alone", start
    for name, plan in plans.items():
        folder = out / trainings.file_stem(name)
        run = trained({**values, **plan}, folders[second], folder, start.folder)
        yield f"then {second}: {name}", run
    units = units_instead(run.model())
    run = trained({**values, "hidden_dim": units}, folders[second], out / "state", start.folder)
    yield f"then {second}: a state of {units} units", run


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "")
    parser.add_argument("--captions", required=True, help="folder of Multi30k")
    parser.add_argument("--reviews", required=True, help="folder of the film reviews")
    parser.add_argument("--reviews-first", action="store_true", help="begin with the reviews")
    parser.add_argument("--hidden-dim", type=int, help="units of the state")
    parser.add_argument("--seeds", type=int, default=3, help="number of trainings of each row")
    given = parser.parse_args()
    print(
        compare(
            given.captions,
            given.reviews,
            given.out,
            trainings.given_values(hidden_dim=given.hidden_dim),
            order=(REVIEWS, CAPTIONS) if given.reviews_first else (CAPTIONS, REVIEWS),
            seeds=given.seeds,
        )
    )
