"""Shared by all tests: seeds, float32 as the starting policy, and cheaper compilation."""

import gc
import os
from pathlib import Path
from unittest import mock

from keras_attn_pipelines.compilation import fast_flags

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tiny programs run once: optimizing their machine code takes longer than running it.
os.environ.setdefault(
    "XLA_FLAGS",
    f"{fast_flags('tensorflow')} --xla_backend_optimization_level=0 "
    "--xla_llvm_disable_expensive_passes=true",
)

import keras
import pytest


def pytest_collection_finish():
    """Collects garbage less often, and never among modules and tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _own_caches(session_folder):
    """Keeps the user's cached features and other sessions' programs out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(session_folder / "cache"))
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(session_folder / "compiled"))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
        yield


@pytest.fixture(scope="module", autouse=True)
def _fresh_module():
    """Seeds what a module shares; TensorFlow forgets the kernels that it has prepared."""
    keras.utils.set_random_seed(7)


@pytest.fixture(autouse=True)
def _fresh_start():
    """Seeds every test. TensorFlow keeps its kernels: to prepare those of one operation after the
    other again took a third of many tests' time."""
    with mock.patch("tensorflow.python.pywrap_tfe.TFE_ContextClearCaches"):
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
