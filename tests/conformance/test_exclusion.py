"""What stands at masked places reaches neither outputs nor gradients, on every backend."""

import pytest

from tests.backends import OTHERS
from tests.conformance import exclusion
from tests.processes import run_module


def test_every_layer_with_a_mask_has_a_row():
    exclusion.check_rows()


def test_masked_places_of_every_layer():
    exclusion.check_layers(exclusion.QUICK)


def test_keys_that_no_query_attends_to():
    exclusion.check_pairs(exclusion.CROSS)


@pytest.mark.slow
def test_masked_places_of_every_case():
    exclusion.check_layers()
    exclusion.check_pairs()


def test_memories_read_step_by_step():
    exclusion.check_memories()


def test_losses():
    exclusion.check_losses()


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_all_of_it_on_another_backend(backend):
    run_module("tests.conformance.exclusion", backend=backend)
