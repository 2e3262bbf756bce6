"""Batches: fixed shapes, nothing lost, padding of weight 0."""

import hashlib
import itertools
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.contracts import END_ID, FEATURES, IMAGE, PAD_ID, START_ID, TOKENS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.augmentation import Augmentation
from keras_attn_pipelines.data.picture_folder import CaptionedPicture
from keras_attn_pipelines.data.read_pictures import read_pictures
from keras_attn_pipelines.data.training_data import Records
from keras_attn_pipelines.experiment import Setting
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.tasks.captioning.feature_cache import cached_features
from keras_attn_pipelines.tasks.captioning.features import (
    CaptionExamples,
    caption_batches,
    contexts,
)
from tests.images.encoded_pictures import KINDS, tiff, with_exif

CAPTIONS = ["a dog", "a red dog runs over the green grass", "dogs", "a big dog sees a small dog"]


@pytest.fixture
def records(tmp_path):
    random = np.random.default_rng(1)
    pictures = []
    for index in range(11):
        path = tmp_path / f"{index}.png"
        Image.fromarray(random.integers(0, 256, (5, 7, 3), "uint8")).save(path)
        own = [CAPTIONS[(index + place) % 4] for place in range(1 + index % 5)]
        pictures.append(CaptionedPicture(path.name, path, tuple(own), digest_of(path)))
    return pictures


def digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


FORMAT = PictureFormat(5, 7)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.learn(CAPTIONS, 300)


@pytest.fixture
def make(tokenizer, records):
    """A function that makes batches of three pictures with two captions each."""

    def batches(lengths=(7, 13, 40), encoded=None, augmentation=None):
        examples = CaptionExamples.of(records, tokenizer, 2, lengths)
        examples = replace(examples, encoded=encoded)
        return caption_batches(examples, records, FORMAT, 3, augmentation, 5)

    return batches


def read(tokenizer, dataset):
    """Multiset of (first pixel row, caption) in a data set, after checking its shapes."""
    pairs = []
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
        texts = tokenizer.decode(targets).numpy()
        for row, column in np.argwhere(weights[..., 0] > 0):
            assert inputs[TOKENS][row, column, 0] == START_ID
            picture = inputs[IMAGE][row].numpy().tobytes()
            pairs.append((picture, texts[row, column].decode()))
    return sorted(pairs)


def test_every_caption_once_in_each_epoch(make, tokenizer, records):
    batches = make()
    expected = sorted(
        (np.asarray(Image.open(record.path)).tobytes(), caption)
        for record in records
        for caption in record.captions
    )
    dataset, steps = batches.dataset(), batches.steps
    assert read(tokenizer, dataset) == expected
    assert len(list(dataset)) == len(dataset) == steps
    for epoch in range(3):
        training = batches.training(epoch * steps)
        assert read(tokenizer, training.take(steps)) == expected


def test_a_step_is_the_same_batch_wherever_one_begins(make):
    def tokens(dataset):
        return [inputs[TOKENS].numpy().tolist() for inputs, _, _ in dataset]

    batches = make()
    steps = batches.steps
    epochs = tokens(batches.training().take(2 * steps))
    assert epochs[:steps] != epochs[steps:] and epochs[:steps] != tokens(batches.dataset())
    for start in (1, steps - 1, steps + 1):
        count = min(3, 2 * steps - start)
        again = tokens(batches.training(start).take(count))
        assert again == epochs[start : start + count]


@pytest.mark.systems
def test_features_come_with_their_pictures(make, records, tmp_path):
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))
    features = cached_features(records, encoder, FORMAT, tmp_path / "cache", 4)
    again = cached_features(records, encoder, FORMAT, tmp_path / "cache", 4)
    assert features.shape == (11, 12, 3) and isinstance(again, np.memmap)
    with_images, with_features = (
        list(make(encoded=encoded).dataset()) for encoded in (None, features)
    )
    for (images, _, _), (rows, _, _) in zip(with_images, with_features):
        np.testing.assert_array_equal(images[TOKENS], rows[TOKENS])
        real = np.any(images[TOKENS] != PAD_ID, axis=(1, 2))
        expected = tf.reshape(encoder(images[IMAGE]), (3, 12, 3))
        np.testing.assert_allclose(rows[FEATURES][real], expected[real], atol=2e-3)
    rows = np.concatenate(list(contexts(records, FORMAT, 3, features)))
    np.testing.assert_array_equal(rows[:11], features)
    images = np.concatenate(list(contexts(records, FORMAT, 3)))
    assert images.shape == (12, 5, 7, 3) and not images[11].any()


def test_features_of_files_heed_no_limit_of_a_request(records, tmp_path):
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))
    features = {
        limit: np.array(cached_features(records, encoder, picture_format, tmp_path / "cache", 11))
        for limit, picture_format in (
            ("batch", PictureFormat(5, 7, max_pixels=35)),
            ("picture", PictureFormat(5, 7, max_pixels=1)),
            (None, FORMAT),
        )
    }
    assert np.ptp(features[None]) > 0
    np.testing.assert_array_equal(features["batch"], features[None])
    np.testing.assert_array_equal(features["picture"], features[None])


@pytest.mark.systems
def test_changed_pictures_weights_and_formats_are_never_read_from_the_cache(records, tmp_path):
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))

    def features(fit="squash"):
        picture_format = PictureFormat(5, 7, fit)
        encoded = np.array(cached_features(records, encoder, picture_format, tmp_path / "cache", 4))
        return encoded, len(list((tmp_path / "cache").iterdir()))

    first, files = features()
    assert files == 1 and features()[1] == 1
    encoder.weights[0].assign(-encoder.weights[0])
    reweighted, files = features()
    assert files == 2 and not np.allclose(reweighted, first)
    assert features("crop")[1] == 3
    records[4].path.write_bytes(records[5].path.read_bytes())
    records[4] = replace(records[4], digest=digest_of(records[4].path))
    changed, files = features()
    assert files == 4
    np.testing.assert_array_equal(changed[4], reweighted[5])
    np.testing.assert_array_equal(np.delete(changed, 4, 0), np.delete(reweighted, 4, 0))


def test_pictures_of_a_batch_are_those_decoded_alone(tmp_path, records):
    paths = [record.path for record in records[:2]]
    for kind in ("jpeg", "png alpha", "jpeg cmyk", "gif", "webp"):
        paths.append(tmp_path / kind)
        paths[-1].write_bytes(KINDS[kind])
    paths.append(tmp_path / "turned")
    paths[-1].write_bytes(with_exif(KINDS["jpeg"], tiff(6)))
    names = tf.data.Dataset.from_tensors([*map(str, paths), ""])
    (batch,) = names.map(lambda names: read_pictures(names, FORMAT))
    alone = [FORMAT.decode(path.read_bytes()) for path in paths]
    np.testing.assert_array_equal(batch, [*alone, np.zeros((5, 7, 3))])


def test_unreadable_picture_is_named(records, tmp_path):
    records[4].path.write_bytes(b"<html>")
    encoder = SmallConvEncoder((3,), (2,))
    encoder.build((None, 5, 7, 3))
    with pytest.raises(ValueError, match=r"that can be read. Received: .*4\.png"):
        cached_features(records, encoder, FORMAT, tmp_path / "cache", 4)
    assert not list((tmp_path / "cache").iterdir())


def test_long_captions_are_cut_and_counted(make):
    short = make(lengths=(2, 3))
    assert short.examples.cut > 0 and not make().examples.cut
    for _, targets, _ in short.dataset():
        assert targets.shape[2] <= 3


@pytest.mark.systems
def test_only_training_pictures_are_changed_and_cut_captions_reported(records, tokenizer):
    values = {"image_size": 7, "flip": True, "crop": 0.6, "lengths": (2, 3), "batch_size": 3}
    experiment = RECIPE.replaced(values)
    data = experiment.work.encode(
        Records({"train": records, "dev": records}),
        {"tokenizer": tokenizer},
        Setting(model=experiment.model, fit=experiment.fit),
    )
    picture_format = experiment.task.pictures.picture_format()
    originals = {
        picture_format.decode(tf.constant(record.path.read_bytes())).numpy().tobytes()
        for record in records
    }

    def pictures(dataset):
        return [
            picture.tobytes()
            for inputs, _, weights in dataset
            for picture, weight in zip(inputs[IMAGE].numpy(), weights.numpy())
            if weight.any()
        ]

    count = sum(len(record.captions) for record in records)
    shown = pictures(data.dev)
    assert len(shown) == count and set(shown) == originals
    trained = pictures(data.training(0).take(data.steps))
    assert len(trained) == count and len(set(trained) - originals) > count // 2
    encoded = tokenizer.encode([text for record in records for text in record.captions])
    cut = sum(len(ids) + 1 > 3 for ids in encoded.to_list())
    assert data.lines[-1] == f"{cut} training captions are longer than 3 pieces: cut" and cut


def test_a_changed_picture_is_one_of_its_step_and_features_never_change(make):
    augmentation = Augmentation(True, 0.6, 5)
    plain, changed = make(), make(augmentation=augmentation)
    start, seen = 4, 0
    pairs = zip(plain.training(start), changed.training(start))
    for step, ((inputs, *rest), (other, *other_rest)) in enumerate(
        itertools.islice(pairs, 7), start
    ):
        expected = augmentation(inputs[IMAGE], tf.constant(step, tf.int64))
        np.testing.assert_array_equal(other[IMAGE], expected)
        np.testing.assert_array_equal(other[TOKENS], inputs[TOKENS])
        for tensor, other_tensor in zip(rest, other_rest):
            np.testing.assert_array_equal(other_tensor, tensor)
        seen += int((other[IMAGE].numpy() != inputs[IMAGE].numpy()).any())
    assert seen == 7
    features = np.random.default_rng(2).random((11, 12, 3)).astype("float16")
    frozen = (make(encoded=features), make(encoded=features, augmentation=augmentation))
    for first, second in itertools.islice(zip(*(batches.training() for batches in frozen)), 3):
        np.testing.assert_array_equal(second[0][FEATURES], first[0][FEATURES])


def test_tables_are_no_constants_of_the_graph(records, tokenizer):
    """However many captions there are, the graph of the data set stays as it is."""

    def graph(times):
        pictures = records * times
        examples = CaptionExamples.of(pictures, tokenizer, 2, (7, 13, 40))
        dataset = caption_batches(examples, pictures, FORMAT, 3, None, 5).training()
        return dataset._as_serialized_graph().numpy()

    small, large = graph(1), graph(97)
    assert abs(len(large) - len(small)) < 1000 and b"7.png" not in large
