"""The same answer eagerly, in a graph, under XLA, in a SavedModel and on other backends."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import MinimumLength, NoRepeatedNgrams, Sampling, decode
from keras_attn.serving.export import unservable_ops
from tests import backends
from tests.decoding.replay import CASES, CONTEXT, answer, arrays
from tests.processes import run_module
from tests.quick import rows
from tests.reference.decoding import TableStepper

OTHERS = {"jax": ("beam", "sampling cut", "exhaustive", "trees"), "torch": tuple(CASES)}
"""Cases by backend: JAX compiles each."""
TIED = ("beam", "beam average")
"""Cases with hypotheses that differ in a rounding only, of which PyTorch keeps others."""


def check_equal(parts, expected):
    for part, wanted in zip(parts, expected, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def eager():
    return {name: arrays(answer(name, CONTEXT)) for name in CASES}


@pytest.mark.systems
@pytest.mark.parametrize("backend", backends.OTHERS)
def test_another_backend(backend, eager, tmp_path):
    names, path = OTHERS[backend], tmp_path / "answers.npz"
    run_module("tests.decoding.replay", path, *names, backend=backend)
    with np.load(path) as answers:
        for name in names:
            parts = (1, 2, 4) if backend == "torch" and name in TIED else range(5)
            found = [answers[f"{name}/{part}"] for part in parts]
            check_equal(found, [eager[name][part] for part in parts])


@pytest.mark.parametrize("name", rows(sorted(CASES), {"beam"}))
def test_graph_and_xla(name, eager):
    graph = tf.function(lambda context: answer(name, context))
    rows = tf.TensorSpec([None], "int32")
    check_equal(arrays(graph.get_concrete_function(rows)(tf.constant(CONTEXT))), eager[name])
    compiled = tf.function(lambda context: answer(name, context), jit_compile=True)
    check_equal(arrays(compiled(tf.constant(CONTEXT))), eager[name])


class Sampler(tf.Module):
    """What a user exports: draws whose seeds, prefixes and contexts are inputs."""

    def __init__(self):
        super().__init__()
        self.stepper = TableStepper(1009, 3, 2)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], "int32"),
            tf.TensorSpec([None], "int64"),
            tf.TensorSpec([None, 2], "int32"),
        ]
    )
    def draw(self, context, seed, prefix):
        constraints = [MinimumLength(4), NoRepeatedNgrams(2)]
        strategy = Sampling(0.9, 17, 0.95, seed, 2)
        result = decode(self.stepper, context, strategy, 7, True, constraints, prefix)
        return result._asdict()


@pytest.mark.systems
def test_export_with_seeds_as_input(tmp_path):
    sampler = Sampler()
    tf.saved_model.save(sampler, str(tmp_path), {"serving_default": sampler.draw})
    assert not unservable_ops(tmp_path)
    loaded = tf.saved_model.load(str(tmp_path))
    prefix = np.array([[5, 1], [0, 0], [4, 0]], "int32")
    seeds = np.array([3, 2**31 + 5, -7], "int64")
    first, again = (loaded.draw(CONTEXT, seeds, prefix) for _ in range(2))
    other = loaded.draw(CONTEXT, seeds + 1, prefix)
    for name, value in Sampler.draw.python_function(sampler, CONTEXT, seeds, prefix).items():
        np.testing.assert_allclose(first[name], value, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(first[name], again[name])
    assert (first["tokens"].numpy() != other["tokens"].numpy()).any(axis=-1).all()
    alone = loaded.signatures["serving_default"](
        context=tf.constant(CONTEXT[1:2]),
        seed=tf.constant(seeds[1:2]),
        prefix=tf.constant(prefix[1:2]),
    )
    np.testing.assert_array_equal(alone["tokens"][0], first["tokens"][1])
