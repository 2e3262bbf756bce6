"""The largest of numbers equals NumPy's, and nothing goes around it."""

import re
from pathlib import Path

import numpy as np
import pytest

import keras_attn
from keras_attn.ops.greatest import greatest


@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 0, 3), (0, 5, 3)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_equals_numpy(shape, keepdims):
    values = np.random.default_rng(3).normal(size=shape).astype("float32")
    expected = np.max(values, axis=1, keepdims=keepdims, initial=0.5)
    np.testing.assert_array_equal(greatest(values, 0.5, 1, keepdims), expected)


def test_no_first_value_is_given_to_keras():
    """On PyTorch it would be on the CPU, beside values on a GPU."""
    pattern = re.compile(r"ops\.(max|min|amax|amin)\([^\n]*initial=")
    paths = [
        path for path in Path(keras_attn.__file__).parent.rglob("*.py") if path.stem != "greatest"
    ]
    assert len(paths) > 100 and not [path for path in paths if pattern.search(path.read_text())]
