"""Sentences of film reviews, told apart by poolings and encoders and by a linear classifier.

Run as `python -m benchmarks.sentence_polarity --data FOLDER --out FOLDER [--folds N]`. FOLDER has
rt-polarity.pos and rt-polarity.neg of Pang and Lee 2005, or amazonReviewSnippets_GroundTruth.txt of
Hutto and Gilbert 2014, which the source archive of vaderSentiment on PyPI holds: sentences of
product reviews with ratings, of which those above and below 0 are told apart. The recipe's defaults
are used but for what is in `PLANS`; `--only` trains some of these. The sentences are shuffled by a
fixed seed and dealt into ten folds; each of the first N is the test set once, a tenth of the rest
is dev, by which the epoch is chosen. The linear classifier is scikit-learn's logistic regression on
words and bigrams (`pip install 'keras-attn[peers]'`); it has no use for dev and trains on it too.
What has been trained before in the folder is taken as it is. Writes the table to FOLDER/table.md
and prints it: parameters, test accuracy in percent with its standard error over folds, and minutes.
"""

import statistics
from pathlib import Path

import numpy as np

from benchmarks import trainings
from benchmarks.timing import line
from keras_attn_pipelines.recipes.text_classifier import RECIPE

NAME = "text_classifier"
FOLDS, DEV = 10, 10
FILES = {"positive": "rt-polarity.pos", "negative": "rt-polarity.neg"}
RATED = "amazonReviewSnippets_GroundTruth.txt"
SIZES = {"lengths": (16, 32, 64, 128)}
PLANS = {
    "mean of embeddings": {"encoder": "embeddings", "pooling": "mean"},
    "attention over embeddings": {"encoder": "embeddings"},
    "attention over a bidirectional LSTM": {"encoder": "recurrent"},
    "attention over convolutions": {"encoder": "convolutional"},
    "attention over a Transformer": {"encoder": "transformer", "dropout": 0.3},
}
LINEAR = "logistic regression on words and bigrams"
HEADS = "classifier", "parameters", "folds", "test accuracy, %", "minutes a fold"


def sentences(data) -> list[tuple[str, str]]:
    """Every (text, label), shuffled by a fixed seed.

    Raises:
        ValueError: a file is missing.
    """
    rated = Path(data) / RATED
    pairs = _rated(rated) if rated.is_file() else _two_files(data)
    order = np.random.default_rng(0).permutation(len(pairs))
    return [pairs[place] for place in order]


def _rated(path):
    """Sentences of a file of numbers, mean ratings and texts; those rated 0 are left out."""
    rows = [line.split("\t") for line in path.read_text(encoding="latin-1").splitlines()]
    rated = [(text.strip(), float(rating)) for _, rating, text in rows]
    return [(text, "positive" if rating > 0 else "negative") for text, rating in rated if rating]


def _two_files(data):
    """Sentences of a file for each label."""
    pairs = []
    for label, name in FILES.items():
        path = Path(data) / name
        if not path.is_file():
            raise ValueError(f"Expected {name} in {data}. Received: no such file")
        lines = path.read_text(encoding="latin-1").split("\n")
        pairs += [(line.strip(), label) for line in lines if line.strip()]
    return pairs


def splits(pairs, fold: int) -> dict[str, list[tuple[str, str]]]:
    """Train, dev and test of a fold."""
    rest = [pair for place, pair in enumerate(pairs) if place % FOLDS != fold]
    return {
        "train": [pair for place, pair in enumerate(rest) if place % DEV],
        "dev": rest[::DEV],
        "test": pairs[fold::FOLDS],
    }


def write_split(folder, split) -> Path:
    """The folder of a fold's files, which are written."""
    for name, pairs in split.items():
        lines = [{"text": text, "label": label} for text, label in pairs]
        trainings.write_lines(folder / f"{name}.jsonl", lines)
    return folder


def linear(split) -> tuple[float, int]:
    """Accuracy in percent and parameters of the linear classifier on a fold."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+")
    classifier = make_pipeline(words, LogisticRegression(max_iter=1000))
    classifier.fit(*zip(*split["train"] + split["dev"]))
    accuracy = classifier.score(*zip(*split["test"]))
    return 100 * accuracy, classifier[-1].coef_.size + 1


def measured(classifier, *arguments) -> dict:
    """What `linear` or `trainings.accuracy_of` returns, and its minutes."""
    answer, minutes = trainings.minutes_of(classifier, *arguments)
    return dict(zip(("accuracy", "parameters", "minutes"), (*answer, minutes)))


def row(name: str, records: list[dict]) -> list[str]:
    """A row of the table."""
    accuracy = trainings.mean_and_error([record["accuracy"] for record in records])
    parameters, minutes = (
        statistics.mean(record[key] for record in records) for key in ("parameters", "minutes")
    )
    return [name, f"{round(parameters):,}", str(len(records)), accuracy, f"{minutes:.1f}"]


def compare(data, out, folds: int = FOLDS, sizes=SIZES, plans=PLANS) -> str:
    """Trains what has not been trained, and returns the table.

    Args:
        data: folder of the two files.
        out: folder of the runs.
        folds: how many of the ten folds.
        sizes: field values of every recipe.
        plans: dict from names to further field values.
    """
    pairs, out = sentences(data), Path(out)
    records: dict[str, list[dict]] = {name: [] for name in (LINEAR, *plans)}
    for fold in range(folds):
        split = splits(pairs, fold)
        folder = write_split(out / f"fold_{fold}", split)
        path = folder / "linear.json"
        records[LINEAR].append(trainings.recorded(path, measured, linear, split))
        for name, plan in plans.items():
            stem, values = trainings.file_stem(name), {**sizes, **plan, "seed": fold}
            run = out / "runs" / f"{stem}_{fold}"
            work = trainings.accuracy_of, RECIPE.replaced(values), folder, run, NAME, 500
            path = folder / f"{stem}.result.json"
            records[name].append(trainings.recorded(path, measured, *work))
            print(f"fold {fold}: {line(row(name, records[name][-1:]))}", flush=True)
    return trainings.write_table(out, HEADS, [row(*item) for item in records.items()])


if __name__ == "__main__":
    parser = trainings.training_parser(__doc__, "folder of the two files")
    parser.add_argument("--folds", type=int, default=FOLDS, choices=range(1, FOLDS + 1))
    parser.add_argument("--only", nargs="+", default=list(PLANS), choices=list(PLANS))
    given = parser.parse_args()
    chosen = {name: PLANS[name] for name in given.only}
    print(compare(given.data, given.out, given.folds, plans=chosen))
