"""What one backend does in training, the others do too."""

import pytest

from tests.backends import OTHERS
from tests.processes import run_module

pytestmark = pytest.mark.systems


@pytest.mark.parametrize("backend", OTHERS)
def test_training_on_a_backend(backend, tmp_path):
    run_module("tests.training.on_a_backend", tmp_path, backend=backend)


@pytest.mark.slow
def test_devices_of_jax():
    run_module("tests.training.on_jax_devices", backend="jax", devices=8)
