"""Pages on mechanisms run from top to bottom, and what they train learns."""

import matplotlib
import numpy as np
import pytest

from tests.pages import blocks


def run(page):
    """The names that the page's code defines."""
    matplotlib.use("Agg")
    names = {}
    for block in blocks(f"docs/mechanisms/{page}"):
        exec(block, names)
    return names


@pytest.mark.slow
def test_recurrent_layers_with_attention():
    names = run("attention_cells.md")
    losses = names["history"].history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    tokens, weights = np.array(names["tokens"]), np.array(names["weights"])
    assert tokens.shape == (9,) and weights.shape == (9, 4) and (weights.sum(-1) <= 1 + 1e-6).all()
    decoded = names["reversed_digits"]
    assert np.array(decoded.tokens)[0, 0, :5].tolist() == [13, 11, 7, 5, 3]
    read = np.array(decoded.weights)[0, 0, :4].argmax(-1)
    assert read.tolist() == [3, 2, 1, 0]


@pytest.mark.slow
def test_memory_networks():
    names = run("memory_networks.md")
    assert names["history"].history["accuracy"][-1] > 0.9
    weights, stories = names["weights"], names["stories"]
    assert weights.shape == (2000, 2, 6)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert not weights[np.repeat(~stories.any(-1)[:, None], 2, 1)].any()


@pytest.mark.systems
def test_progressive_memory():
    names = run("progressive_memory.md")
    losses = names["history"].history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    old, new = names["old"], names["new"]
    np.testing.assert_array_equal(new.cell.bank.keys[0], old.cell.bank.keys[0])
    assert len(new.cell.bank.keys) == 2


@pytest.mark.slow
def test_the_neural_computer():
    names = run("dnc.md")
    walked = [int(np.argmax(weights)) for weights in names["reads"]]
    assert walked == [3, 7, 2, 5]
    errors = names["errors"]
    assert errors[1.0][1] == 0 and errors[0.9][8] < errors[0.9][1]
    assert names["model"].output_shape[-1] == 1


@pytest.mark.slow
def test_the_turing_machines_head_walks():
    names = run("ntm.md")
    length, write, read = names["LENGTH"], names["write"], names["read"]
    assert names["shares"][length] == 1
    written = np.argmax(write[0, :length, 0], axis=-1)
    assert len(set(written)) == length
    looked = np.argmax(read[0, length + 1 :, 0], axis=-1)
    np.testing.assert_array_equal(np.diff(looked), np.diff(written))


@pytest.mark.systems
def test_a_link_matrix_learns_an_order():
    names = run("order_planning.md")
    assert names["history"].history["accuracy"][-1] == 1
    matrix = np.array(names["matrix"])
    assert matrix.shape == (6, 5) and (matrix[:5].argmax(axis=1) == np.arange(5)).all()
    assert names["model"].output_shape[0] == (None, None, 100)
