"""Masks travel and add up, and our attention stands where Keras' stood, on every backend."""

import pytest

from tests.backends import OTHERS
from tests.conformance import masks
from tests.conformance.registry import SEQUENCES
from tests.processes import run_module
from tests.quick import rows

policies = pytest.mark.parametrize(
    "policy", rows(["float32", "mixed_bfloat16"], {"float32"}, "slow")
)
QUICK = {"additive_self", "multi_head_self", "gated_convolution"}


@policies
@pytest.mark.parametrize("name", rows(SEQUENCES, QUICK))
def test_padding_is_never_attended_to(name, policy, tmp_path):
    makes = masks.MAKES if name in QUICK else masks.MAKES[:1]
    masks.check_sequences(tmp_path, policy, makes, (name,))


def test_padded_memories_and_queries():
    masks.check_memories()


def test_mask_in_mask_out():
    masks.check_mask_out()


@policies
def test_drop_in_for_keras_attention(policy):
    masks.check_drop_in(policy)


def test_keras_layers_of_the_same_mechanism():
    masks.check_keras_stack()
    masks.check_keras_scores()


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_all_of_it_on_another_backend(backend, tmp_path):
    run_module("tests.conformance.masks", tmp_path, backend=backend)
