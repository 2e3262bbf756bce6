"""The symmetric divergence and its own gradient equal NumPy's, in a graph, under XLA, elsewhere."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.ops.symmetric_divergence import symmetric_divergence
from tests import backends
from tests.processes import ROOT

RANDOM = np.random.default_rng(3)
LOGITS = RANDOM.normal(size=(2, 5, 7)) * 3
OTHERS = RANDOM.normal(size=(2, 5, 7)) * 3
SLOPES = RANDOM.normal(size=(2, 5))
ELSEWHERE = """
from keras import ops
from tests.ops.test_symmetric_divergence import *
from tests.slopes import slopes
def total(logits, others):
    divergence = symmetric_divergence(logits, others)
    return ops.sum(ops.multiply(divergence, SLOPES.astype("float32"))), []
_, _, gradients = slopes(total, 2)([LOGITS.astype("float32"), OTHERS.astype("float32")])
for gradient, expected in zip(gradients, differences(LOGITS, OTHERS), strict=True):
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)
print("equal")
"""


def twin(logits, others):
    """Divergences, place by place."""
    values = np.zeros(logits.shape[:-1])
    for place in np.ndindex(values.shape):
        p, q = (np.exp(row[place]) / np.exp(row[place]).sum() for row in (logits, others))
        values[place] = sum(a * np.log(a / b) + b * np.log(b / a) for a, b in zip(p, q))
    return values


def differences(logits, others, step=1e-5):
    """Gradients of the sum of SLOPES times the twin, by finite differences."""
    gradients = []
    for which in (0, 1):
        gradient = np.zeros(logits.shape)
        for place in np.ndindex(logits.shape):
            ends = []
            for sign in (1, -1):
                moved = [logits.copy(), others.copy()]
                moved[which][place] += sign * step
                ends.append((twin(*moved) * SLOPES).sum())
            gradient[place] = (ends[0] - ends[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("jit", [None, True])
def test_equals_the_twin(jit):
    def call(logits, others):
        with tf.GradientTape() as tape:
            tape.watch([logits, others])
            values = symmetric_divergence(logits, others)
        slopes = tf.constant(SLOPES, "float32")
        return values, tape.gradient(values, [logits, others], slopes)

    function = call if jit is None else tf.function(call, jit_compile=jit)
    values, gradients = function(tf.constant(LOGITS, "float32"), tf.constant(OTHERS, "float32"))
    np.testing.assert_allclose(values, twin(LOGITS, OTHERS), rtol=1e-5)
    for gradient, expected in zip(gradients, differences(LOGITS, OTHERS)):
        np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5)


def test_greatest_logits_are_finite():
    logits = np.zeros((2, 3), "float32")
    logits[0, 1] = 1e30
    values = np.array(symmetric_divergence(tf.constant(logits), tf.constant(logits[::-1])))
    assert np.isfinite(values).all() and values.min() > 1e28
    same = symmetric_divergence(tf.constant(logits), tf.constant(logits))
    np.testing.assert_array_equal(same, [0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("backend", backends.OTHERS)
def test_on_another_backend(backend):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    command = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == "equal\n", done.stderr[-2000:]
