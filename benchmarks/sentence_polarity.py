"""Sentences of film reviews, told apart by poolings and encoders and by a linear classifier.

Run as `python -m benchmarks.sentence_polarity --data FOLDER --out FOLDER [--folds N]`. FOLDER has
rt-polarity.pos and rt-polarity.neg of Pang and Lee 2005, or amazonReviewSnippets_GroundTruth.txt of
Hutto and Gilbert 2014, which the source archive of vaderSentiment on PyPI holds: sentences of
product reviews with ratings, of which those above and below 0 are told apart. The recipe's defaults
are used but for what is in `PLANS`; `--only` trains some of these. The sentences are shuffled by a
fixed seed and dealt into ten folds; each of the first N is the test set once, a tenth of the rest
is dev, by which the epoch is chosen. The linear classifier is scikit-learn's logistic regression on
words and bigrams; it has no use for dev and trains on it too. What has been trained before in the
folder is taken as it is. Writes the table to FOLDER/table.md and prints it: parameters, test
accuracy in percent with its standard error over folds, and minutes.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

from keras_attn.whole_file import whole_file
from keras_attn_pipelines.recipes.text_classifier import RECIPE
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.train import train

FOLDS, DEV = 10, 10
FILES = {"pos": "rt-polarity.pos", "neg": "rt-polarity.neg"}
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
    return [(text, "pos" if rating > 0 else "neg") for text, rating in rated if rating]


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


def written(folder, split) -> Path:
    """The folder of a fold's files, written where they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in split.items():
        lines = [json.dumps({"text": text, "label": label}) for text, label in pairs]
        with whole_file(folder / f"{name}.jsonl") as partial:
            partial.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def linear(split) -> dict:
    """Accuracy of the linear classifier on a fold."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    begin = time.monotonic()
    words = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+")
    classifier = make_pipeline(words, LogisticRegression(max_iter=1000))
    classifier.fit(*zip(*split["train"] + split["dev"]))
    accuracy = 100 * classifier.score(*zip(*split["test"]))
    parameters = classifier[-1].coef_.size + 1
    return _record(accuracy, parameters, begin)


def neural(values, data, out) -> dict:
    """Trains a recipe on a fold, and returns its accuracy."""
    begin = time.monotonic()
    run = train(RECIPE.replaced(values), data, out, name="text_classifier", verbose=0)
    accuracy = 100 * evaluate(run, data, "test", batch=500).scores["accuracy"]
    return _record(accuracy, run.model().count_params(), begin)


def _record(accuracy, parameters, begin):
    minutes = (time.monotonic() - begin) / 60
    return {"accuracy": accuracy, "parameters": int(parameters), "minutes": minutes}


def kept(path, measure) -> dict:
    """The record in a file; measured where there is none."""
    if not path.is_file():
        record = measure()
        with whole_file(path) as partial:
            partial.write_text(json.dumps(record), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def row(name: str, records: list[dict]) -> str:
    """A row of the table."""
    accuracies = [record["accuracy"] for record in records]
    mean = f"{statistics.mean(accuracies):.1f}"
    if len(accuracies) > 1:
        mean += f" ± {statistics.stdev(accuracies) / len(accuracies) ** 0.5:.1f}"
    parameters = round(statistics.mean(record["parameters"] for record in records))
    minutes = statistics.mean(record["minutes"] for record in records)
    return f"| {name} | {parameters:,} | {len(records)} | {mean} | {minutes:.1f} |"


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
        folder = written(out / f"fold_{fold}", split)
        records[LINEAR].append(kept(folder / "linear.json", lambda split=split: linear(split)))
        for name, plan in plans.items():
            stem, values = name.replace(" ", "_"), {**sizes, **plan, "seed": fold}
            run = out / "runs" / f"{stem}_{fold}"
            records[name].append(
                kept(
                    folder / f"{stem}.result.json",
                    lambda values=values, folder=folder, run=run: neural(values, folder, run),
                )
            )
            print(f"fold {fold}: {row(name, records[name][-1:])}", flush=True)
    rows = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    table = "\n".join([*rows, *(row(name, found) for name, found in records.items())])
    with whole_file(out / "table.md") as partial:
        partial.write_text(f"{table}\n", encoding="utf-8")
    return table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of the two files")
    parser.add_argument("--out", required=True, help="folder, new or with some of the runs")
    parser.add_argument("--folds", type=int, default=FOLDS, choices=range(1, FOLDS + 1))
    parser.add_argument("--only", nargs="+", default=list(PLANS), choices=list(PLANS))
    given = parser.parse_args()
    chosen = {name: PLANS[name] for name in given.only}
    print(compare(given.data, given.out, given.folds, plans=chosen))
