"""The pages on memory networks and progressive memory run, and their models learn."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

CELL = re.compile(r"```\{code-cell\} ipython3\n(.*?)```", re.DOTALL)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "mechanisms"


def run_page(name):
    matplotlib.use("Agg")
    names, text = {}, (DOCS / name).read_text(encoding="utf-8")
    for block in CELL.findall(text):
        exec(block, names)
    return names


@pytest.mark.slow
def test_memory_networks():
    names = run_page("memory_networks.md")
    assert names["history"].history["accuracy"][-1] > 0.9
    weights, stories = names["weights"], names["stories"]
    assert weights.shape == (2000, 2, 6)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert not weights[np.repeat(~stories.any(-1)[:, None], 2, 1)].any()


@pytest.mark.systems
def test_progressive_memory():
    names = run_page("progressive_memory.md")
    losses = names["history"].history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    old, new = names["old"], names["new"]
    np.testing.assert_array_equal(new.cell.bank.keys[0], old.cell.bank.keys[0])
    assert len(new.cell.bank.keys) == 2
