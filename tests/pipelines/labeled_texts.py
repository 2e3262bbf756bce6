"""Short made-up reviews with labels, as tables and in folders."""

import csv

import numpy as np

WORDS = {"bad": ("awful", "dull", "weak"), "good": ("lovely", "fresh", "strong")}
FILLERS = ("the", "film", "is", "a", "very", "plot", "of", "it")
TINY = {
    "vocabulary_size": 310,
    "lengths": (13, 23),
    "embedding_dim": 6,
    "hidden_dim": 7,
}
"""Field values with which `text_classifier` trains on them in seconds."""


def examples(count, seed=0, longest=9):
    """(text, label) pairs; one word of each text tells its label."""
    random, rows = np.random.default_rng(seed), []
    for place in range(count):
        label = sorted(WORDS)[place % 2]
        words = list(random.choice(FILLERS, random.integers(1, longest)))
        words.insert(random.integers(len(words) + 1), random.choice(WORDS[label]))
        rows.append((" ".join(words), label))
    return rows


def write_table(folder, train=60, val=7, test=5):
    """train.csv, val.csv and test.csv with the columns sentence and label."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (stem, count) in enumerate((("train", train), ("val", val), ("test", test))):
        with (folder / f"{stem}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("sentence", "label"), *examples(count, seed)])
    return folder


def write_classes(folder, count=20):
    """A .txt file for each text in a folder for each class."""
    for place, (text, label) in enumerate(examples(count)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        (folder / label / f"{place}.txt").write_text(f"{text}\n", encoding="utf-8")
    return folder
