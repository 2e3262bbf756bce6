"""Batches of labeled pictures: every picture once, the same from any step on, changed as chosen."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn.text.label_table import LabelTable
from keras_attn_pipelines.data.augmentation import Augmentation
from keras_attn_pipelines.data.readers.picture_kinds import read_labels
from keras_attn_pipelines.tasks.classification.picture_work import labeled_batches
from tests.pipelines.labeled_pictures import write_classes

NAMES = ["blue", "green", "red"]
FORMAT = PictureFormat(11, 13)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    data = write_classes(tmp_path_factory.mktemp("data"), (("", 7),), NAMES)
    return read_labels(data).pictures


def batches(records, augmentation=None):
    return labeled_batches(records, LabelTable(NAMES), FORMAT, 5, augmentation, seed=3)


def test_every_picture_once_and_filling_weighs_nothing(records):
    loaded = list(batches(records).dataset().as_numpy_iterator())
    assert len(loaded) == batches(records).steps == 5
    pictures, classes, weights = map(np.concatenate, zip(*loaded))
    assert pictures.shape == (25, 11, 13, 3) and weights.tolist() == [1.0] * 21 + [0.0] * 4
    assert [NAMES[label] for label in classes[:21]] == [record.label for record in records]
    for row, record in enumerate(records):
        expected = FORMAT.decode(tf.constant(record.path.read_bytes()))
        np.testing.assert_array_equal(pictures[row], expected)
    assert not pictures[21:].any()


def test_training_is_shuffled_and_goes_on_from_any_step(records):
    changed = batches(records, Augmentation(True, 0.6, 3))
    first = list(changed.training().take(11).as_numpy_iterator())
    later = list(changed.training(start=7).take(4).as_numpy_iterator())
    for batch, later_batch in zip(first[7:], later):
        for left, right in zip(batch, later_batch):
            np.testing.assert_array_equal(left, right)
    epochs = [np.concatenate([batch[1] for batch in first[at : at + 5]]) for at in (0, 5)]
    assert (epochs[0] != epochs[1]).any()
    weights = [sum(batch[2].sum() for batch in first[at : at + 5]) for at in (0, 5)]
    assert weights == [21.0, 21.0]


def test_flips_are_mirrors_and_crops_are_boxes():
    ramp = np.arange(13, dtype="uint8") * 10
    pictures = tf.constant(np.broadcast_to(ramp[None, None, :, None], (64, 11, 13, 3)).copy())
    flipped = Augmentation(True, 1.0, 3)(pictures, tf.constant(5, tf.int64)).numpy()
    kinds = [row[0, 0, 0] for row in flipped]
    assert set(kinds) == {0, 120} and 16 < kinds.count(0) < 48
    for row in flipped:
        np.testing.assert_array_equal(row[3, :, 1], ramp if row[0, 0, 0] == 0 else ramp[::-1])
    cut = Augmentation(False, 0.5, 3)(pictures, tf.constant(5, tf.int64)).numpy().astype(int)
    spans = cut[:, 0, -1, 0] - cut[:, 0, 0, 0]
    assert (spans >= 59).all() and (spans <= 120).all() and spans.std() > 5
    assert (np.diff(cut[:, 0, :, 0], axis=1) > 0).all() and cut[:, 0, 0, 0].std() > 5
    other = Augmentation(False, 0.5, 3)(pictures, tf.constant(6, tf.int64)).numpy()
    assert (cut != other).any()
    same = Augmentation(False, 1.0, 3)(pictures, tf.constant(5, tf.int64))
    np.testing.assert_array_equal(same, pictures)


def blobs(across, down):
    """Pictures (64, 41, 41, 3) of one blob, so far from the center."""
    places = np.arange(41) - 20
    distance = (places[None] - across) ** 2 + (places[:, None] - down) ** 2
    picture = np.round(255 * np.exp(-distance / 8)).astype("uint8")
    return tf.constant(np.repeat(np.broadcast_to(picture[None, ..., None], (64, 41, 41, 1)), 3, 3))


def centers(pictures):
    """float (64, 2): where the blobs are, across and down from the center."""
    mass, places = pictures.numpy()[..., 1].astype(float), np.arange(41) - 20
    total = mass.sum(axis=(1, 2))
    across, down = (mass.sum(axis=axis) @ places / total for axis in (1, 2))
    return np.stack([across, down], axis=1)


def test_shifts_move_and_turns_turn_about_the_center():
    step = tf.constant(5, tf.int64)
    moved = centers(Augmentation(False, 1.0, 3, shift=0.2)(blobs(0, 0), step))
    assert np.abs(moved).max() < 8.3 and (np.abs(moved).max(axis=0) > 7).all()
    assert np.abs(moved.mean(axis=0)).max() < 2 and moved.std(axis=0).min() > 3
    turned = centers(Augmentation(False, 1.0, 3, turn=30)(blobs(12, 0), step))
    np.testing.assert_allclose(np.hypot(*turned.T), 12, atol=0.1)
    angles = np.degrees(np.arctan2(*turned.T[::-1]))
    assert 25 < np.abs(angles).max() < 30.5 and angles.min() < -20 < 20 < angles.max()
    both = Augmentation(False, 1.0, 3, shift=0.2, turn=30)
    distances = np.hypot(*(centers(both(blobs(12, 0), step)) - turned).T)
    assert distances.max() < 8.3 * 2**0.5 and distances.min() > 0
    edge = Augmentation(False, 1.0, 3, shift=0.9, turn=180)
    white = tf.fill((2, 5, 7, 3), tf.constant(200, tf.uint8))
    np.testing.assert_array_equal(edge(white, step), white)


def test_colors_change_in_brightness_contrast_and_saturation():
    step, random = tf.constant(5, tf.int64), np.random.default_rng(0)
    pictures = tf.constant(random.integers(90, 160, (64, 5, 7, 3)), tf.uint8)
    changed = Augmentation(False, 1.0, 3, color=0.4)(pictures, step).numpy().astype(float)

    def measures(pixels):
        gray = pixels @ [0.2989, 0.587, 0.114]
        rest = (pixels - gray[..., None]).std(axis=(1, 2, 3))
        return pixels.mean(axis=(1, 2, 3)), gray.std(axis=(1, 2)), rest

    before = measures(pictures.numpy().astype(float))
    bright, contrast, color = (a / b for a, b in zip(measures(changed), before))
    assert 0.58 < bright.min() < 0.7 and 1.3 < bright.max() < 1.43
    assert (contrast / bright).min() < 0.7 and (contrast / bright).max() > 1.3
    assert (color / contrast).min() < 0.7 and (color / contrast).max() > 1.3
    same = Augmentation(False, 1.0, 3, color=0.4)(pictures, step)
    np.testing.assert_array_equal(same, changed)
