"""Names that the examples in docstrings use, what tests cost, and what all of them share."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest
from keras import ops

pytest_plugins = ["tests.processor_seconds", "tests.recipes.shared"]


@pytest.fixture(autouse=True)
def _doctest_names(doctest_namespace):
    doctest_namespace["ops"] = ops
    doctest_namespace["np"] = np
