"""Modules of the tests that run in processes of their own, such as under another backend."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras

from keras_attn_pipelines.compilation import fast_flags

ROOT = Path(__file__).resolve().parents[1]


def run_module(module, *arguments, backend="tensorflow", devices=1):
    """Runs `python -m module arguments…` under a Keras backend and returns what it printed.

    JAX has so many devices.
    """
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices} {fast_flags(backend)}",
    }
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def read_values(text):
    """Values of a recipe's fields, from JSON in a command."""
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in json.loads(text).items()
    }


def compiled(function):
    """The function of arrays, compiled on the JAX backend, where one by one operations are slow."""
    if keras.backend.backend() != "jax":
        return function
    import jax

    return jax.jit(function)
