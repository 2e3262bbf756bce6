"""Bicubic interpolation equals torch's, recorded."""

import numpy as np
import pytest
from keras import ops

from keras_attn.ops.resample import bicubic_matrix, resample_grid
from tests.pretrained.vision_files import golden


@pytest.mark.parametrize("size", [(7, 11), (2, 13)])
def test_equals_torch(size):
    arrays = golden("bicubic")
    resized = ops.convert_to_numpy(resample_grid(arrays["grid"], *size))
    np.testing.assert_allclose(resized, arrays[f"{size[0]}x{size[1]}"], atol=1e-5)


@pytest.mark.parametrize(("old", "new"), [(3, 7), (7, 3), (1, 5), (5, 1), (13, 11)])
def test_rows_sum_to_one(old, new):
    matrix = bicubic_matrix(old, new)
    assert matrix.shape == (new, old)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(matrix, matrix[::-1, ::-1], atol=1e-6)


def test_the_same_size_is_the_same_grid():
    np.testing.assert_array_equal(bicubic_matrix(5, 5), np.eye(5))
    grid = np.random.default_rng(3).normal(size=(3, 5, 2)).astype("float32")
    np.testing.assert_array_equal(ops.convert_to_numpy(resample_grid(grid, 3, 5)), grid)
