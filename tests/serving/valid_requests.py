"""Rows that the signatures of any exported model can answer, for measurements of serving."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up import captions, drawn_pictures
from keras_attn.contracts import CAPTION, FACTS, IMAGE, QUESTION, SOURCE, STORY, TARGET
from keras_attn.text.symbol_table import SymbolTable
from tests.serving.stand_in.warm_up import warm_up_requests

VOCABULARY = Path("assets.extra", "words")
"""Of a question answerer, which knows no other words."""


def valid_rows(version, count: int, size=(48, 32)) -> dict[str, list[dict[str, Any]]]:
    """Rows for each signature of a SavedModel with warm-up requests.

    Pictures are drawn, texts of one to five words and facts made of random words, stories of the
    model's own; other inputs are those of the warm-up requests. Rows may still be too long for a
    model of toy sizes.

    Args:
        version: path of a version's folder.
        count: int > 0. Rows of a signature.
        size: (width, height) of pictures, pixels.

    Returns:
        dict from signature to rows, each a dict from input to bytes or an array of them.

    Raises:
        ValueError: no warm-up requests.
    """
    rows = {}
    for name, inputs in warm_up_requests(version):
        drawn = {
            key: _drawn(key, batch[0], Path(version), count, size) for key, batch in inputs.items()
        }
        rows[name] = [dict(zip(drawn, values)) for values in zip(*drawn.values())]
    return rows


def _drawn(name, first, version, count, size):
    """The values of an input, of which the warm-up request has the first."""
    texts = [text.encode() for text in captions(3 * count, seed=len(name))]
    if name == IMAGE:
        return drawn_pictures(count, size)
    if name in (SOURCE, TARGET, CAPTION):
        return [b" ".join(text.split()[: 1 + row % 5]) for row, text in enumerate(texts[:count])]
    if name == FACTS:
        words = [text.split()[0] for text in texts]
        return [np.array([words[3 * row : 3 * row + 3]], object) for row in range(count)]
    if name in (STORY, QUESTION):
        words = [word.encode() for word in SymbolTable.load(version / VOCABULARY).names]
        random = np.random.default_rng(count)
        return [b" ".join(random.choice(words, 4)) for _ in range(count)]
    return [first] * count
