"""Caches of several hypotheses, on every backend."""

import pytest

from tests.backends import OTHERS
from tests.layers.cached_beams import LAYERS, check_beams
from tests.processes import run_module


@pytest.mark.parametrize("name", LAYERS)
def test_cached_hypotheses_equal_whole_sequences(name):
    check_beams(LAYERS[name]())


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_cached_hypotheses_on_other_backends(backend):
    run_module("tests.layers.cached_beams", backend=backend)
