"""Shared by all tests: names for doctests, seeds, and float32 as the starting policy."""

import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import pytest


@pytest.fixture(autouse=True)
def _fresh_start():
    keras.utils.set_random_seed(7)
    yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture(scope="session")
def data_folder():
    """Folder of real data; tests that need it skip where there is none."""
    root = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KERAS_ATTN_DATA", root))
    if not folder.is_dir():
        pytest.skip("no real data here: set KERAS_ATTN_DATA to the folder that holds it")
    return folder
