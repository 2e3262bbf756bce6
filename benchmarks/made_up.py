"""Captioned pictures out of nothing, for measurements that depend on shapes and sizes alone."""

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from keras_attn.models.image_encoders.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn_pipelines.experiment import part
from keras_attn_pipelines.recipes.flickr8k import RECIPE

WORDS = 4000
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


@part
class RandomEncoder:
    """EfficientNet-Lite0 with random weights, without anything to download."""

    def build(self, image_size):
        """See `Encoder`."""
        return EfficientNetLite0Encoder(weights=None)


UNTRAINED = replace(RECIPE, model=replace(RECIPE.model, encoder=RandomEncoder()))
"""The flickr8k recipe with a random encoder, which costs as much to compute."""


def captions(count: int, seed: int = 0) -> list[str]:
    """Captions of random words, 5 to 19 of them, 12 on average.

    A `Tokenizer` of 3,000 pieces finds 3,000 in a few thousand of them.
    """
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(LETTERS, random.integers(2, 6))) for _ in range(WORDS)]
    lengths = np.clip(random.normal(12, 3, count).round(), 5, 19).astype(int)
    # Few words make most of a text: a word's rank is log-uniform.
    return [
        " ".join(words[int(rank)] for rank in np.exp(random.uniform(0, np.log(WORDS), length)))
        for length in lengths
    ]


def write_pictures(folder, count: int, size: tuple[int, int], seed: int = 0) -> list[Path]:
    """Writes JPEGs of colored clouds with some grain; a 224×224 one has about 12 kB.

    Args:
        folder: path, made if need be.
        count: int.
        size: (width, height), pixels.
        seed: int.
    """
    folder, random = Path(folder), np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{index:05}.jpg" for index in range(count)]
    for path in paths:
        clouds = Image.fromarray(random.integers(0, 256, (9, 13, 3), "uint8"))
        pixels = np.asarray(clouds.resize(size, Image.Resampling.BICUBIC), "float32")
        pixels = pixels + random.normal(0, 12, pixels.shape)
        Image.fromarray(np.clip(pixels, 0, 255).astype("uint8")).save(path, quality=75)
    return paths


def drawn_pictures(count: int, size: tuple[int, int]) -> list[bytes]:
    """JPEGs as of `write_pictures`."""
    with tempfile.TemporaryDirectory() as folder:
        return [path.read_bytes() for path in write_pictures(folder, count, size)]


def write_caption_folder(folder, count: int, size: tuple[int, int], each: int = 1) -> Path:
    """Writes a data folder: images/ and captions.csv with `each` captions a picture."""
    folder = Path(folder)
    paths = write_pictures(folder / "images", count, size)
    texts = iter(captions(count * each))
    write_captions(folder, ((path.name, next(texts)) for path in paths for _ in range(each)))
    return folder


def write_captions(folder, rows: Iterable[tuple[str, str]]) -> None:
    """Writes the captions.csv of a data folder, rows of a picture's name and a caption."""
    with (Path(folder) / "captions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("image", "caption"), *rows])
