"""Links, copies and relations equal their NumPy twins."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.ops import copied_runs, copy_mixture, fact_relations, field_links, hybrid_weights
from tests.reference import data_to_text as reference


def arrays(seed=0, examples=2, sequences=3, steps=5, size=7, fields=11):
    """Content-based weights, gates, a link matrix, fields and a mask; the last example is empty."""
    random = np.random.default_rng(seed)
    mask = np.ones((examples, size), bool)
    mask[0, 5:] = False
    mask[-1] = False
    content = random.random((examples * sequences, steps, size))
    content *= np.repeat(mask, sequences, axis=0)[:, None]
    content /= np.maximum(content.sum(axis=-1, keepdims=True), 1e-30)
    gate = random.random((examples * sequences, steps, 1))
    table = random.normal(size=(fields + 1, fields))
    return content, gate, table, random.integers(0, fields, (examples, size)), mask


def weights_of(content, gate, table, fields, mask, sequences=3):
    links, first = field_links(np.float32(table), fields)
    expected = ops.repeat(first, sequences, axis=0)
    return hybrid_weights(np.float32(content), np.float32(gate), expected, links, mask)


def test_hybrid_weights_equal_the_twin():
    content, gate, table, fields, mask = arrays(examples=3)
    weights, _ = weights_of(content, gate, table, fields, mask)
    for row in range(len(content)):
        example = row // 3
        expected = reference.hybrid(
            content[row], gate[row, :, 0], table, fields[example], mask[example]
        )
        np.testing.assert_allclose(weights[row], expected, atol=1e-6)
    sums = ops.convert_to_numpy(ops.sum(weights, axis=-1))
    np.testing.assert_allclose(sums, np.repeat([1.0, 1.0, 0.0], 3)[:, None] + 0 * sums, atol=1e-6)


def test_scores_carry_the_steps_on():
    content, gate, table, fields, mask = arrays()
    weights, scores = weights_of(content, gate, table, fields, mask)
    links, _ = field_links(np.float32(table), fields)
    later, _ = hybrid_weights(
        np.float32(content[:, 2:]), np.float32(gate[:, 2:]), scores[:, 1], links, mask
    )
    np.testing.assert_allclose(later, weights[:, 2:], atol=1e-6)


def test_a_gate_of_one_leaves_the_content():
    content, gate, table, fields, mask = arrays()
    weights, _ = weights_of(content, np.ones_like(gate), table, fields, mask)
    np.testing.assert_allclose(weights, content, atol=1e-6)


def test_copies_equal_the_twin():
    random = np.random.default_rng(3)
    logits, switch = random.normal(size=(6, 5, 13)), random.normal(size=(6, 5, 1))
    weights, tokens = random.dirichlet(np.ones(7), (6, 5)), random.integers(0, 11, (2, 7))
    tokens[0, 3:5] = tokens[0, 1]
    mixed = copy_mixture(*(np.float32(array) for array in (logits, weights, switch)), tokens)
    for row, step in np.ndindex(6, 5):
        own = (logits[row, step], weights[row, step], switch[row, step, 0], tokens[row // 3])
        np.testing.assert_allclose(mixed[row, step], reference.copies(*own), atol=1e-5)


@pytest.mark.parametrize("size", [1.0, 80.0])
def test_gradients_of_copies_are_finite(size):
    """Tokens without probability, and a pointer that is sure of one place."""
    logits = tf.constant([[[size, 0.0, -size]]])
    switch, tokens = tf.constant([[[0.5]]]), tf.constant([[2, 1]])
    weights = tf.constant([[[1.0, 0.0]]])
    with tf.GradientTape() as tape:
        tape.watch([logits, weights, switch])
        loss = copy_mixture(logits, weights, switch, tokens)[0, 0, 2]
    for gradient in tape.gradient(loss, [logits, weights, switch]):
        assert np.isfinite(gradient).all()


def test_relations_equal_the_twin():
    random = np.random.default_rng(5)
    facts, roles, nodes = (random.integers(low, 4, (2, 11)) for low in (1, 0, 1))
    relations = ops.convert_to_numpy(fact_relations(facts, roles, nodes))
    for row, i, j in np.ndindex(2, 11, 11):
        tokens = [(facts[row, place], roles[row, place], nodes[row, place]) for place in (i, j)]
        assert relations[row, i, j] == reference.relation(*tokens)


def slow_run(tokens, source, continues, place):
    """The number of last tokens that are those before a place, one by one."""
    count = 0
    while place > 0 and count < len(tokens) and continues[place]:
        if tokens[-1 - count] != source[place - 1]:
            break
        place, count = place - 1, count + 1
    return count


@pytest.mark.parametrize("known", [0, 2, 5])
def test_copied_runs_of_a_slow_twin(known):
    random = np.random.default_rng(known)
    longest, hypotheses, steps = 3, 2, 7
    source, continues = random.integers(1, 3, (5, 11)), random.random((5, 11)) < 0.8
    said = random.integers(1, 3, (5 * hypotheses, known + steps))
    recent = np.pad(said, [(0, 0), (longest - 1, 0)])[:, known : known + longest - 1]
    runs = copied_runs(said[:, known:], source, continues, longest, recent if known else None)
    runs = np.asarray(runs)
    assert runs.max() == longest
    for row, step, place in np.ndindex(*runs.shape):
        example = row // hypotheses
        heard = said[row, : known + step + 1]
        expected = slow_run(heard, source[example], continues[example], place)
        assert runs[row, step, place] == min(expected, longest)
