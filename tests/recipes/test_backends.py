"""Every recipe trains on JAX as on TensorFlow, on one device and on eight."""

import json
import signal

import numpy as np
import pytest

from keras_attn_pipelines.runs.run import Run
from tests.processes import run_module
from tests.recipes.registry import ROWS
from tests.recipes.test_matrix import even, interrupted

pytestmark = pytest.mark.slow

KILLED = ("babi_memory_network",)
EIGHT = 8
TRAINED = [pytest.param(row, id=row.name) for row in ROWS if not row.start]


@pytest.mark.parametrize("row", TRAINED)
def test_first_losses_are_equal(row, tmp_path):
    values = {**row.values, **even(row)}
    if "batch_size" in values:
        values["batch_size"] = EIGHT
    arguments = (row.name, row.data(tmp_path), json.dumps(values), tmp_path)
    losses = {}
    for name, backend, devices in (
        ("tensorflow", "tensorflow", 1),
        ("jax", "jax", 1),
        ("eight", "jax", EIGHT),
    ):
        run_module(
            "tests.recipes.on_backend", *arguments, name, EIGHT, backend=backend, devices=devices
        )
        losses[name] = np.load(tmp_path / f"{name}.npy")
        run = Run(tmp_path / name)
        assert run.description["ended"] and run.model().count_params()
    assert losses["tensorflow"][0] != losses["tensorflow"][-1]
    for name in ("jax", "eight"):
        np.testing.assert_allclose(losses[name], losses["tensorflow"], atol=1e-4)


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in KILLED], ids=KILLED)
def test_killed_on_jax_ends_as_others_do(row, tmp_path):
    data, whole, killed = row.data(tmp_path), tmp_path / "whole", tmp_path / "killed"
    assert interrupted(row, data, whole, 0, f"{whole}.npz", backend="jax")[0] == 0
    assert interrupted(row, data, killed, 3, f"{killed}.npz", backend="jax")[0] == -signal.SIGKILL
    code, printed = interrupted(row, data, killed, 0, f"{killed}.npz", backend="jax")
    assert code == 0 and "resuming at epoch" in printed, printed
    with np.load(f"{whole}.npz") as expected, np.load(f"{killed}.npz") as weights:
        for name in expected.files:
            np.testing.assert_allclose(weights[name], expected[name], atol=1e-6)
