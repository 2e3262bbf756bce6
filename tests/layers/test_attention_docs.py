"""The page on recurrent layers with attention runs, and its model learns."""

import re
from pathlib import Path

import numpy as np
import pytest

CELL = re.compile(r"```\{code-cell\} ipython3\n(.*?)```", re.DOTALL)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "mechanisms" / "attention_cells.md"


@pytest.mark.slow
def test_the_page_runs():
    names = {}
    for block in CELL.findall(PAGE.read_text(encoding="utf-8")):
        exec(block, names)
    losses = names["history"].history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    tokens, weights = np.array(names["tokens"]), np.array(names["weights"])
    assert tokens.shape == (9,) and weights.shape == (9, 4) and (weights.sum(-1) <= 1 + 1e-6).all()
    decoded = names["reversed_digits"]
    assert np.array(decoded.tokens)[0, 0, :5].tolist() == [13, 11, 7, 5, 3]
    read = np.array(decoded.weights)[0, 0, :4].argmax(-1)
    assert read.tolist() == [3, 2, 1, 0]
