"""Batches: fixed shapes, nothing lost, padding of weight 0."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.contracts import END_ID, FEATURES, IMAGE, PAD_ID, START_ID, TOKENS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.small_conv_encoder import SmallConvEncoder
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.augmentation import Augmentation
from keras_attn_pipelines.data.picture_splits import CaptionedPicture
from keras_attn_pipelines.tasks.captioning.feature_cache import cached_features
from keras_attn_pipelines.tasks.captioning.features import CaptionBatches

CAPTIONS = ["a dog", "a red dog runs over the green grass", "dogs", "a big dog sees a small dog"]


@pytest.fixture
def records(tmp_path):
    random = np.random.default_rng(1)
    found = []
    for index in range(11):
        path = tmp_path / f"{index}.png"
        Image.fromarray(random.integers(0, 256, (5, 7, 3), "uint8")).save(path)
        own = [CAPTIONS[(index + place) % 4] for place in range(1 + index % 5)]
        found.append(CaptionedPicture(path.name, path, tuple(own)))
    return found


@pytest.fixture
def batches():
    tokenizer = Tokenizer.learn(CAPTIONS, 300)
    return CaptionBatches(tokenizer, PictureFormat(5, 7), 3, 2, (7, 13, 40), seed=5)


def read(batches, dataset):
    """Multiset of (first pixel row, caption) in a data set, after checking its shapes."""
    found = []
    for inputs, targets, weights in dataset:
        assert inputs[IMAGE].shape == (3, 5, 7, 3) and inputs[IMAGE].dtype == tf.uint8
        assert inputs[TOKENS].shape == targets.shape == weights.shape
        assert targets.shape[:2] == (3, 2) and targets.shape[2] in (7, 13, 40)
        np.testing.assert_array_equal(weights, targets != PAD_ID)
        np.testing.assert_array_equal(inputs[TOKENS] != PAD_ID, targets != PAD_ID)
        np.testing.assert_array_equal(
            np.where(targets[..., :-1] == END_ID, PAD_ID, targets[..., :-1]),
            inputs[TOKENS][..., 1:],
        )
        texts = batches.tokenizer.decode(targets).numpy()
        for row, column in np.argwhere(weights[..., 0] > 0):
            assert inputs[TOKENS][row, column, 0] == START_ID
            picture = inputs[IMAGE][row].numpy().tobytes()
            found.append((picture, texts[row, column].decode()))
    return sorted(found)


def test_every_caption_once_in_each_epoch(batches, records):
    expected = sorted(
        (np.asarray(Image.open(record.path)).tobytes(), caption)
        for record in records
        for caption in record.captions
    )
    dataset, steps = batches.dataset(records), batches.steps(records)
    assert read(batches, dataset) == expected
    assert len(list(dataset)) == len(dataset) == steps
    for epoch in range(3):
        training = batches.training(records, start=epoch * steps)
        assert read(batches, training.take(steps)) == expected


def test_a_step_is_the_same_batch_wherever_one_begins(batches, records):
    def tokens(dataset):
        return [inputs[TOKENS].numpy().tolist() for inputs, _, _ in dataset]

    steps = batches.steps(records)
    epochs = tokens(batches.training(records).take(2 * steps))
    assert epochs[:steps] != epochs[steps:] and epochs[:steps] != tokens(batches.dataset(records))
    for start in (1, steps - 1, steps + 1):
        count = min(3, 2 * steps - start)
        again = tokens(batches.training(records, start=start).take(count))
        assert again == epochs[start : start + count]


def test_features_come_with_their_pictures(batches, records, tmp_path):
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))
    features = cached_features(records, encoder, batches.picture_format, tmp_path / "cache", 4)
    again = cached_features(records, encoder, batches.picture_format, tmp_path / "cache", 4)
    assert features.shape == (11, 12, 3) and isinstance(again, np.memmap)
    with_images, with_features = (
        list(batches.dataset(records, source)) for source in (None, features)
    )
    for (images, _, _), (rows, _, _) in zip(with_images, with_features):
        np.testing.assert_array_equal(images[TOKENS], rows[TOKENS])
        real = np.any(images[TOKENS] != PAD_ID, axis=(1, 2))
        expected = tf.reshape(encoder(images[IMAGE]), (3, 12, 3))
        np.testing.assert_allclose(rows[FEATURES][real], expected[real], atol=2e-3)
    contexts = np.concatenate(list(batches.contexts(records, features)))
    np.testing.assert_array_equal(contexts[:11], features)
    images = np.concatenate(list(batches.contexts(records)))
    assert images.shape == (12, 5, 7, 3) and not images[11].any()


def test_changed_pictures_weights_and_formats_are_never_read_from_the_cache(records, tmp_path):
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))

    def features(fit="squash"):
        picture_format = PictureFormat(5, 7, fit)
        found = np.array(cached_features(records, encoder, picture_format, tmp_path / "cache", 4))
        return found, len(list((tmp_path / "cache").iterdir()))

    first, files = features()
    assert files == 1 and features()[1] == 1
    encoder.weights[0].assign(-encoder.weights[0])
    reweighted, files = features()
    assert files == 2 and not np.allclose(reweighted, first)
    assert features("crop")[1] == 3
    records[4].path.write_bytes(records[5].path.read_bytes())
    changed, files = features()
    assert files == 4
    np.testing.assert_array_equal(changed[4], reweighted[5])
    np.testing.assert_array_equal(np.delete(changed, 4, 0), np.delete(reweighted, 4, 0))


def test_unreadable_picture_is_named(batches, records, tmp_path):
    records[4].path.write_bytes(b"<html>")
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))
    with pytest.raises(ValueError, match=r"that can be read. Received: .*4\.png"):
        cached_features(records, encoder, batches.picture_format, tmp_path / "cache", 4)
    assert not list((tmp_path / "cache").iterdir())


def test_long_captions_are_cut_and_counted(records, batches):
    short = CaptionBatches(batches.tokenizer, batches.picture_format, 3, 2, (2, 3))
    assert short.longer(records) > 0
    for _, targets, _ in short.dataset(records):
        assert targets.shape[2] <= 3
    with pytest.raises(ValueError, match=r"at least one picture.*captions=0"):
        CaptionBatches(batches.tokenizer, batches.picture_format, 3, 0, (3,))
    with pytest.raises(ValueError, match="increasing lengths"):
        CaptionBatches(batches.tokenizer, batches.picture_format, 3, 2, (3, 3))


def test_training_alone_changes_pictures_and_never_features(batches, records):
    augmentation = Augmentation(True, 0.6, 5)
    changed = replace(batches, augmentation=augmentation)
    start, seen = 4, 0
    pairs = zip(batches.training(records, start=start), changed.training(records, start=start))
    for step, ((plain, *plain_rest), (other, *rest)) in enumerate(
        itertools.islice(pairs, 7), start
    ):
        expected = augmentation(plain[IMAGE], tf.constant(step, tf.int64))
        np.testing.assert_array_equal(other[IMAGE], expected)
        np.testing.assert_array_equal(other[TOKENS], plain[TOKENS])
        for one, own in zip(plain_rest, rest):
            np.testing.assert_array_equal(own, one)
        seen += int((other[IMAGE].numpy() != plain[IMAGE].numpy()).any())
    assert seen == 7
    assert read(changed, changed.dataset(records)) == read(batches, batches.dataset(records))
    features = np.random.default_rng(2).random((11, 12, 3)).astype("float16")
    for one, other in itertools.islice(
        zip(batches.training(records, features), changed.training(records, features)), 3
    ):
        np.testing.assert_array_equal(other[0][FEATURES], one[0][FEATURES])
