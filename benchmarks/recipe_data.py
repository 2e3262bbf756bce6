"""Data out of nothing for every recipe: few records, whose lengths meet every bucket.

For measurements that depend on shapes and sizes alone.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.made_up import captions, write_caption_folder, write_pictures
from tests.pipelines.toy_stories import PEOPLE, PLACES

RECORDS, HELD_OUT = 480, 16
LABELS, COLUMNS = ("bad", "good"), ("source", "target")
PHRASES, TAGS = ("S", "NP", "VP", "PP", "ADJP"), ("NN", "VBZ", "IN", "JJ", "DT")


def written(name: str, folder: Path) -> str:
    """Writes the data of a recipe into a folder that exists; the value of `--data`."""
    return str(_WRITERS[name](Path(folder)))


def texts(count: int, most: int, seed: int = 0) -> list[list[str]]:
    """Random words, from 2 to `most` of them; lengths are log-uniform."""
    random = np.random.default_rng(seed)
    words = iter(" ".join(captions(count * most // 8, seed)).split())
    lengths = np.exp(random.uniform(np.log(2), np.log(most), count)).round().astype(int)
    return [[next(words) for _ in range(length)] for length in lengths]


def _captions(folder):
    return write_caption_folder(folder, RECORDS // 4, (64, 64), each=5)


def _classes(folder):
    for seed, split in enumerate(("train", "dev")):
        for label in LABELS:
            write_pictures(folder / split / label, 48, (64, 64), seed)
    return folder


def _tables(folder, columns, rows):
    """train.csv and dev.csv with the rows that a function of their number and a seed makes."""
    for seed, (split, count) in enumerate((("train", RECORDS), ("dev", HELD_OUT))):
        with (folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows(count, seed)])
    return folder


def _pairs(folder):
    def rows(count, seed):
        return [(" ".join(text), " ".join(reversed(text))) for text in texts(count, 64, seed)]

    return _tables(folder, COLUMNS, rows)


def _labels(folder):
    def rows(count, seed):
        return [
            (" ".join(text), LABELS[place % 2]) for place, text in enumerate(texts(count, 64, seed))
        ]

    return _tables(folder, ("sentence", "label"), rows)


def _lines(folder, line, suffix):
    """Files of what a function of words and a random generator writes, a line each."""
    for seed, (split, count) in enumerate((("train", RECORDS), ("dev", HELD_OUT))):
        random = np.random.default_rng(seed)
        lines = [line(text, random) for text in texts(count, 100, seed)]
        (folder / f"{split}{suffix}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _trees(folder):
    def tree(words, random, label="S"):
        if len(words) == 1:
            return f"({random.choice(TAGS)} {words[0]})"
        cut = len(words) // 2
        parts = [tree(part, random, random.choice(PHRASES)) for part in (words[:cut], words[cut:])]
        return f"({label} {' '.join(parts)})"

    return _lines(folder, tree, ".mrg")


def _sentences(folder):
    return _lines(folder, lambda words, random: " ".join(words), ".txt")


def _digits(folder):
    """Digits of noise."""
    random, arrays = np.random.default_rng(0), {}
    for split, count in (("train", 4 * RECORDS), ("test", HELD_OUT)):
        arrays[f"x_{split}"] = random.integers(0, 256, (count, 28, 28), "uint8")
        arrays[f"y_{split}"] = np.arange(count) % 10
    np.savez(folder / "digits.npz", **arrays)
    return folder / "digits.npz"


def _facts(folder):
    def record(words, random):
        names = random.permutation([*dict.fromkeys([*words[:8], "Ada", "Bob"])])
        facts = [[names[0], "knows", name] for name in names[1:]]
        said = {"text": " ".join([*names, *words[8:40]]), "order": list(range(len(facts)))}
        return json.dumps({"triples": facts, "texts": [said]})

    return _lines(folder, record, ".jsonl")


def _stories(folder):
    """Stories of 2 to 50 sentences, each with a question behind the last."""
    for seed, (split, count) in enumerate((("train", RECORDS), ("test", HELD_OUT))):
        random, lines = np.random.default_rng(seed), []
        for length in np.exp(random.uniform(np.log(2), np.log(50), count)).round().astype(int):
            where = {}
            for number in range(1, length + 1):
                person = str(random.choice(PEOPLE))
                where[person] = str(random.choice(PLACES))
                lines.append(f"{number} {person} went to the {where[person]}.")
            lines.append(f"{length + 1} Where is {person}? \t{where[person]}\t{length}")
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"qa1_where_{split}.txt").write_text(text, encoding="utf-8")
    return folder


_GENERATED = dict.fromkeys(("ntm_copy", "dnc_copy", "dnc_shortest_path"), lambda _: "generated:1")
_WRITERS: dict[str, Callable] = {
    **dict.fromkeys(
        (
            "flickr8k",
            "flickr8k_transformer",
            "flickr8k_vit",
            "own_pictures",
            "own_pictures_transformer",
            "scenes",
        ),
        _captions,
    ),
    **dict.fromkeys(("images_stn", "vit_classifier"), _classes),
    **dict.fromkeys(("translator_conv", "translator_rnn", "translator_transformer"), _pairs),
    **dict.fromkeys(("babi_dnc", "babi_memory_network"), _stories),
    **_GENERATED,
    "digits_stn": _digits,
    "parser_transformer": _trees,
    "progressive_memory": _sentences,
    "text_classifier": _labels,
    "webnlg_graph": _facts,
}
