"""Distorted digits: functions of digits and seed, and each what it says."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn_pipelines.tasks.classification.digit_distortions import (
    Bent,
    Cluttered,
    Projected,
    Turned,
    homography,
)

RANDOM = np.random.default_rng(23)
SEED = tf.constant([3, 5])
ALL = [Turned(), Turned(42, 45.0, (0.7, 1.2)), Projected(), Bent(), Cluttered()]


def digits(count=5):
    """Blobs off the center, of values that tell them apart."""
    blobs = np.zeros((count, 28, 28, 1), "float32")
    for row in range(count):
        blobs[row, 5 + row : 15 + row, 8:17] = 0.5 + 0.1 * row
    return blobs


@pytest.mark.systems
@pytest.mark.parametrize("distortion", ALL, ids=str)
def test_pictures_are_a_function_of_digits_and_seed(distortion):
    first, again, other = (
        tf.function(distortion)(digits(), tf.constant(seed)).numpy()
        for seed in ([3, 5], [3, 5], [3, 6])
    )
    assert first.shape == (5, distortion.size, distortion.size, 1)
    assert first.dtype == np.float32 and first.min() >= 0 and first.max() <= 1
    np.testing.assert_array_equal(first, again)
    assert (np.abs(first - other).max(axis=(1, 2, 3)) > 0.1).all()
    assert distortion(digits(0), SEED).shape == (0, distortion.size, distortion.size, 1)


def test_nothing_drawn_is_the_digit_in_the_middle():
    for still in (Turned(42, 0.0, (1.0, 1.0)), Projected(42, 0.0, (1.0, 1.0)), Bent(42, 0.0)):
        pictures = still(digits(), SEED).numpy()
        if isinstance(still, Turned):
            assert all(np.isclose(a.sum(), b.sum(), rtol=0.02) for a, b in zip(pictures, digits()))
        else:
            expected = np.pad(digits(), ((0, 0), (7, 7), (7, 7), (0, 0)))
            np.testing.assert_allclose(pictures, expected, atol=1e-4)


@pytest.mark.parametrize("distortion", ALL, ids=str)
@pytest.mark.parametrize("shape", [(2, 28, 28), (2, 28, 28, 3), (2, 27, 28, 1)])
def test_digits_of_another_shape_are_refused(distortion, shape):
    with pytest.raises(ValueError, match=r"Expected digits \(B, 28, 28, 1\)"):
        distortion(np.zeros(shape, "float32"), SEED)


def moments(picture):
    """Mass, and its center (x, y) from the picture's middle, in pixels."""
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]] - (len(picture) - 1) / 2
    mass = picture.sum()
    return mass, np.array([(columns * picture).sum(), (rows * picture).sum()]) / mass


def test_turned_digits_keep_their_distance_and_their_scale():
    points = np.zeros((64, 28, 28, 1), "float32")
    points[:, 6:9, 13:15] = 1.0
    _, before = moments(points[0, ..., 0])
    angles = []
    for picture in Turned(degrees=90.0)(points, SEED).numpy()[..., 0]:
        mass, after = moments(picture)
        assert mass == pytest.approx(6.0, rel=0.05)
        assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(before), abs=0.1)
        angles.append(np.degrees(np.arctan2(after[0], -after[1])))
    assert -90.5 < min(angles) < -70 and 70 < max(angles) < 90.5
    block = np.zeros((64, 28, 28, 1), "float32")
    block[:, 7:21, 7:21] = 1.0
    masses = Turned(42, 45.0, (0.7, 1.2))(block, SEED).numpy().sum(axis=(1, 2, 3)) / 14**2
    assert 0.48 < masses.min() < 0.55 and 1.3 < masses.max() < 1.46


def test_a_digit_put_somewhere_is_whole():
    whole = np.ones((64, 28, 28, 1), "float32")
    for picture in Turned(42, 0.0)(whole, SEED).numpy():
        assert picture.sum() == pytest.approx(28 * 28, rel=0.01)


def test_homographies_take_points_to_their_images():
    points = RANDOM.uniform(0.5, 1, (7, 4, 2)) * [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    images = RANDOM.uniform(0.5, 1, (7, 4, 2)) * [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    theta = homography(tf.cast(points, "float32"), tf.cast(images, "float32")).numpy()
    matrices = np.concatenate([theta, np.ones((7, 1))], axis=1).reshape(7, 3, 3)
    whole = np.concatenate([points, np.ones((7, 4, 1))], axis=2) @ matrices.transpose(0, 2, 1)
    np.testing.assert_allclose(whole[..., :2] / whole[..., 2:], images, atol=1e-3)


def test_clutter_is_pieces_of_the_batch_beside_the_whole_digit():
    pictures = Cluttered(60, 16, 6)(digits(), SEED).numpy()[..., 0]
    for row, (picture, digit) in enumerate(zip(pictures, digits()[..., 0])):
        places = [
            (top, left)
            for top in range(33)
            for left in range(33)
            if (picture[top : top + 28, left : left + 28] >= digit - 1e-6).all()
        ]
        assert places, row
        assert picture.sum() > digit.sum()
    bare = Cluttered(60, 0, 6)(digits(), SEED).numpy()
    np.testing.assert_allclose(bare.sum(axis=(1, 2, 3)), digits().sum(axis=(1, 2, 3)), rtol=1e-5)
