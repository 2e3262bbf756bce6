"""Loss and metrics of bits against a slow twin."""

import math

import numpy as np
import pytest

from keras_attn.training.bit_losses import BitCrossEntropy, BitsPerSequence, ExactSequences

RANDOM = np.random.default_rng(3)
LOGITS = RANDOM.normal(0, 3, (3, 5, 7)).astype("float32")
BITS = RANDOM.integers(0, 2, (3, 5, 7)).astype("float32")
WEIGHTS = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]], "float32")


def slow_cost(place):
    """−log p of a bit in nats."""
    p = 1 / (1 + math.exp(-float(LOGITS[place])))
    return -math.log(p if BITS[place] else 1 - p)


def slow_costs():
    """The cost of each sequence in nats."""
    rows = np.zeros(3)
    for place in np.ndindex(LOGITS.shape):
        rows[place[0]] += WEIGHTS[place[:2]] * slow_cost(place)
    return rows


def test_loss_and_cost_equal_their_formulas():
    costs = slow_costs()
    loss = BitCrossEntropy()(BITS, LOGITS, WEIGHTS)
    assert float(loss) == pytest.approx(costs.sum() / WEIGHTS.sum() / 7, rel=1e-5)
    metric = BitsPerSequence()
    metric.update_state(BITS, LOGITS, WEIGHTS)
    metric.update_state(BITS[:1], LOGITS[:1], WEIGHTS[:1])
    expected = (costs[0] + costs[1] + costs[0]) / 3 / math.log(2)
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)


def test_padding_counts_nothing_and_large_logits_are_finite():
    spoiled = np.where(WEIGHTS[..., None] > 0, LOGITS, 1e9).astype("float32")
    for measure in (BitCrossEntropy(), BitsPerSequence(), ExactSequences()):
        assert float(measure(BITS, spoiled, WEIGHTS)) == float(measure(BITS, LOGITS, WEIGHTS))
    assert np.isfinite(float(BitCrossEntropy()(BITS, 1e9 * LOGITS)))


def test_exact_sequences():
    logits = np.where(BITS > 0, 2.0, -2.0).astype("float32")
    assert float(ExactSequences()(BITS, logits, WEIGHTS)) == 1.0
    logits[1, 3, 5] *= -1
    assert float(ExactSequences()(BITS, logits, WEIGHTS)) == 0.5
    assert float(ExactSequences()(BITS, logits)) == pytest.approx(2 / 3)
