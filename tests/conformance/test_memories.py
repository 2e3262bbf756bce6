"""Memories equal their slow twins in values and gradients, on every backend."""

import pytest
import tensorflow as tf

from keras_attn.ops import allocation_weights
from tests.backends import OTHERS
from tests.conformance import memories
from tests.processes import run_module


def test_equal_usages_are_ordered_by_slot():
    memories.check_exact_ties(allocation_weights)
    memories.check_exact_ties(tf.function(allocation_weights, jit_compile=True))


def test_nearly_equal_usages_change_the_order_alone():
    memories.check_near_ties()
    memories.check_equal_histories()


@pytest.mark.parametrize("name", memories.ROWS)
def test_gradients_equal_finite_differences(name):
    memories.check_gradients(name)


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_all_of_it_on_another_backend(backend):
    run_module("tests.conformance.memories", backend=backend)
