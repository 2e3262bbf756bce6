"""The pages on cells with a memory run, and the head of the Turing machine walks."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "mechanisms"
CELL = re.compile(r"```\{code-cell\} ipython3\n(.*?)```", re.DOTALL)


def run(page):
    """The names that the page's cells define."""
    matplotlib.use("Agg")
    names = {}
    for block in CELL.findall((PAGES / page).read_text(encoding="utf-8")):
        exec(block, names)
    return names


@pytest.mark.slow
def test_the_page_on_the_neural_computer():
    names = run("dnc.md")
    walked = [int(np.argmax(weights)) for weights in names["reads"]]
    assert walked == [3, 7, 2, 5]
    errors = names["errors"]
    assert errors[1.0][1] == 0 and errors[0.9][8] < errors[0.9][1]
    assert names["model"].output_shape[-1] == 1


@pytest.mark.slow
def test_the_page_on_the_turing_machine():
    names = run("ntm.md")
    length, write, read = names["LENGTH"], names["write"], names["read"]
    assert names["shares"][length] == 1
    written = np.argmax(write[0, :length, 0], axis=-1)
    assert len(set(written)) == length
    looked = np.argmax(read[0, length + 1 :, 0], axis=-1)
    np.testing.assert_array_equal(np.diff(looked), np.diff(written))
