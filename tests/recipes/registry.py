"""Every recipe, a line each: its tiny data, sizes at which it trains in seconds, a bad request."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_attn_pipelines.demo.scenes import write_scenes
from tests.pipelines import (
    labeled_pictures,
    labeled_texts,
    toy_facts,
    toy_language,
    toy_stories,
    toy_treebank,
)


class Row(NamedTuple):
    """A recipe of the matrix.

    Attributes:
        name: of the recipe.
        data: function that writes its data into a folder, and returns what `--data` names.
        values: values of fields.
        bad: request that the service refuses: bytes, or an array of them.
        start: name of the row whose run it starts from, where it starts from one.
        slow: whether its training is left to the slow tests. Others train each kind of system.
        n_best: answers to a request that it is exported with.
    """

    name: str
    data: Callable[[Path], Path | str]
    values: Mapping[str, Any]
    bad: Any
    start: str = ""
    slow: bool = False
    n_best: int = 2


CHAINED = "(S (NP (NP (NP (NP (NN cell))))) (VP (VBZ grows)))"
LONG = "(NP " + "(NN cell) " * 17 + ")"
MANY = [["Ada_Low", "field", str(number)] for number in range(50)]


def scenes(folder: Path) -> Path:
    """Drawn scenes with captions."""
    return write_scenes(folder / "scenes", train=11, dev=3, test=3, novel=2)


def classes(folder: Path) -> Path:
    """Drawn pictures in a folder for each class."""
    return labeled_pictures.write_classes(folder / "classes")


def digits(folder: Path) -> Path:
    """Digits of noise."""
    random = np.random.default_rng(5)
    arrays = {}
    for split, count in (("train", 60), ("test", 7)):
        arrays[f"x_{split}"] = random.integers(0, 256, (count, 28, 28)).astype("uint8")
        arrays[f"y_{split}"] = np.arange(count) % 5
    np.savez(folder / "digits.npz", **arrays)
    return folder / "digits.npz"


def language(folder: Path) -> Path:
    """Pairs of a toy language."""
    return toy_language.write_folder(folder / "language")


def texts(folder: Path) -> Path:
    """Sentences with labels."""
    return labeled_texts.write_table(folder / "texts")


def treebank(folder: Path) -> Path:
    """Trees of a toy grammar, and some that cannot be used."""
    folder = toy_treebank.written(folder / "toy")
    with (folder / "train.mrg").open("a") as train, (folder / "dev.mrg").open("a") as dev:
        train.write(f"(NP (-NONE- *))\n{CHAINED}\n{LONG}\n{LONG}\n")
        dev.write(f"{LONG}\n")
    return folder


def facts(folder: Path) -> Path:
    """Sets of facts with sentences, and one set with too many facts."""
    folder = toy_facts.write_facts(folder / "facts")
    with (folder / "train.jsonl").open("a") as file:
        file.write(json.dumps({"triples": MANY, "texts": [{"text": "Too long."}]}) + "\n")
    return folder


def stories(folder: Path) -> Path:
    """Questions about short stories."""
    return toy_stories.write_tasks(folder / "stories")


def generated(folder: Path) -> str:
    """Sequences drawn from a seed; nothing is written."""
    return "generated:7"


def sentences(folder: Path) -> Path:
    """Sentences of made-up reviews, a file for each split."""
    folder = folder / "sentences"
    folder.mkdir()
    for seed, (name, count) in enumerate((("train", 60), ("dev", 7), ("test", 5))):
        lines = [text for text, _ in labeled_texts.examples(count, seed)]
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder


FIT = {"epochs": 2, "monitor": "val_loss", "warmup_steps": 3}
CAPTIONS = {
    **FIT,
    "image_size": 32,
    "batch_size": 5,
    "vocabulary_size": 300,
    "lengths": (13, 60),
    "beam_width": 2,
}
RECURRENT = {**CAPTIONS, "embedding_dim": 3, "hidden_dim": 7, "attention_dim": 5}
SIZES = {"num_layers": 1, "hidden_dim": 14, "intermediate_dim": 11, "num_heads": 2}
TRANSFORMER = {**CAPTIONS, **SIZES, "num_encoder_layers": 1}
VISION = {"vision_dim": 14, "vision_intermediate_dim": 11, "num_vision_heads": 2}
VIT = {**TRANSFORMER, **VISION, "num_vision_layers": 1, "patch_size": 16}
CLASSES = {**FIT, "image_size": 24, "batch_size": 5}
TEXT = {**FIT, "batch_tokens": 112}
BANK = {"embedding_dim": 5, "hidden_dim": 7, "memory_dim": 3, "lengths": (7, 13)}
MEMORY = {"hidden_dim": 7, "num_slots": 11, "slot_dim": 5, "held_out": 3, "sequences": 13}
DRAWN = {**FIT, **MEMORY, "batch_size": 5}
COLORS = {**FIT, **labeled_pictures.TINY, "flip": True, "crop": 0.7}
COPIED = {
    "bits": 1,
    "lengths": (1, 2),
    "held_out": 11,
    "num_slots": 5,
    "slot_dim": 3,
    "hidden_dim": 7,
    "epochs": 4,
    "sequences": 1000,
    "batch_size": 10,
    "learning_rate": 0.01,
    "monitor": "val_loss",
}
FACTS = {
    **FIT,
    **toy_facts.TINY,
    "slots": 5,
    "dropout": 0.0,
    "epochs": 3,
    "batch_tokens": 400,
    "learning_rate": 0.02,
    "average": 1,
    "tolerance": 0.05,
}
TREES = {
    **FIT,
    **toy_treebank.TINY,
    "source_lengths": (7, 11, 17),
    "batch_tokens": 230,
    "beam_width": 2,
    "average": 2,
    "tolerance": 0.1,
}
TINY_RNN = {"embedding_dim": 5, "hidden_dim": 7, "scope": "local-p", "window": 2}
PICTURE, SENTENCE = b"no picture", b"\xff"
INCOMPLETE = np.array([[b"subject", b"property", b""]])

ROWS = (
    Row("scenes", scenes, RECURRENT, PICTURE),
    Row("flickr8k", scenes, {**RECURRENT, "feature_dim": 11}, PICTURE, slow=True),
    Row("own_pictures", scenes, {"epochs": 2, "batch_size": 5}, PICTURE, "flickr8k", slow=True),
    Row("flickr8k_transformer", scenes, TRANSFORMER, PICTURE, slow=True),
    Row("own_pictures_transformer", scenes, FIT, PICTURE, "flickr8k_transformer", slow=True),
    Row("flickr8k_vit", scenes, VIT, PICTURE, slow=True),
    Row("vit_classifier", classes, COLORS, PICTURE),
    Row("images_stn", classes, {**CLASSES, "filters": 3, "read_size": 11}, PICTURE, slow=True),
    Row(
        "digits_stn",
        digits,
        {**FIT, "batch_size": 7, "filters": 3, "dev_share": 0.2},
        PICTURE,
        slow=True,
    ),
    Row("translator_transformer", language, {**TEXT, **toy_language.TINY}, SENTENCE),
    Row("translator_rnn", language, {**TEXT, **toy_language.TASK, **TINY_RNN}, SENTENCE, slow=True),
    Row(
        "translator_conv",
        language,
        {**TEXT, **toy_language.TINY_CONVOLUTIONAL},
        SENTENCE,
        slow=True,
    ),
    Row("text_classifier", texts, {**TEXT, **labeled_texts.TINY}, SENTENCE, slow=True),
    Row("babi_memory_network", stories, toy_stories.TINY, SENTENCE, slow=True),
    Row("babi_dnc", stories, toy_stories.TINY_DNC, SENTENCE, slow=True),
    Row("progressive_memory", sentences, {**TEXT, **BANK, "slots": (5,)}, SENTENCE, slow=True),
    Row("ntm_copy", generated, COPIED, b"01", n_best=1),
    Row("dnc_copy", generated, {**DRAWN, "lengths": (2, 5), "bits": 3}, b"01", slow=True, n_best=1),
    Row("dnc_shortest_path", generated, {**DRAWN, "lengths": (3, 5)}, b"0101", slow=True, n_best=1),
    Row("webnlg_graph", facts, FACTS, INCOMPLETE),
    Row("parser_transformer", treebank, TREES, SENTENCE),
)
BY_NAME = {row.name: row for row in ROWS}
