import numpy as np
import pytest
from keras import ops

from keras_attn.layers import SpatialSoftmax

RANDOM = np.random.default_rng(41)
FEATURES = RANDOM.normal(size=(3, 5, 7, 2)).astype("float32")


def slow(features):
    """Places by loops."""
    batch, height, width, channels = features.shape
    places = np.zeros((batch, channels, 2))
    for b in range(batch):
        for c in range(channels):
            total = 0.0
            for row in range(height):
                for column in range(width):
                    share = np.exp(float(features[b, row, column, c]))
                    place = ((2 * column + 1) / width - 1, (2 * row + 1) / height - 1)
                    places[b, c] += share * np.array(place)
                    total += share
            places[b, c] /= total
    return places.reshape(batch, -1)


def test_it_equals_a_slow_computation():
    np.testing.assert_allclose(SpatialSoftmax()(FEATURES), slow(FEATURES), atol=1e-6)


def test_a_peak_is_found_to_a_fraction_of_a_cell():
    x = (np.arange(11) * 2 + 1) / 11 - 1
    for center in (-0.31, 0.0, 0.27):
        bump = 9.0 * np.exp(-(((x[None] - center) / 0.4) ** 2) - ((x[:, None] + 0.1) / 0.4) ** 2)
        peak = SpatialSoftmax()(bump.astype("float32")[None, ..., None])
        np.testing.assert_allclose(peak, [[center, -0.1]], atol=0.03)


def test_flat_features_are_in_the_middle_and_large_ones_are_numbers():
    np.testing.assert_allclose(
        SpatialSoftmax()(ops.zeros((2, 3, 5, 2))), np.zeros((2, 4)), atol=1e-6
    )
    assert np.isfinite(SpatialSoftmax()(3e38 * ops.ones((1, 3, 5, 1)))).all()


def test_bad_features():
    for shape in ((2, 3, 5), (2, 3, 5, 7, 11)):
        with pytest.raises(ValueError, match=r"Expected features \(B, height, width, channels\)"):
            SpatialSoftmax()(np.zeros(shape, "float32"))
