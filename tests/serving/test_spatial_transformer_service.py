"""The service of spatial transformers and its export: labels, crops and where they were read."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import CROP, ERROR, GRID, LABEL_SCORES, LABELS, PICTURE
from keras_attn.images.formats.reasons import EMPTY, UNKNOWN
from keras_attn.images.picture_format import PictureFormat
from keras_attn.layers import Affine, Projective, SpatialTransformer
from keras_attn.models import SpatialTransformerClassifier
from keras_attn.ops.sample import sample
from keras_attn.saved.loading import load
from keras_attn.saved.pictures import SavedClassifier, SavedSpatialTransformer
from keras_attn.serving.client import RestClient
from keras_attn.serving.export import export_service, unservable_ops
from keras_attn.serving.precision import precision_of, set_precision
from keras_attn.serving.spatial_transformer_service import SpatialTransformerService
from keras_attn.text.label_table import LabelTable
from tests.serving.servers import Backend, rest_server
from tests.serving.tiny_service import PICTURES

NAMES = ["cat", "small dog", "Ünïcode ☂"]
FORMAT = PictureFormat(17, 19)
GOOD = [0, 1, 3]


def transformer(transform, size):
    look = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])
    options = {"bound": 0.3, "kernel_initializer": "he_normal", "return_grid": True}
    return SpatialTransformer(look, transform, size, **options)


def made(transformers=2, grayscale=False, parallel=1):
    keras.utils.set_random_seed(5)
    layers = [transformer(Affine(), (11, 13)), transformer(Projective(), (5, 7))][:transformers]
    layers = [transformer(Affine(), (11, 13)) for _ in range(parallel - 1)] + layers
    encoder = keras.layers.Conv2D(2, 3)
    model = SpatialTransformerClassifier(layers, encoder, 3, 0.0, grayscale, parallel)
    model.build((None, 17, 19, 3))
    return SpatialTransformerService(model, LabelTable(NAMES), FORMAT, 2)


@pytest.fixture(scope="module")
def service():
    return made()


@pytest.fixture(scope="module")
def version(service, tmp_path_factory):
    return export_service(service, tmp_path_factory.mktemp("models") / "seen", "card")


def test_answers_are_the_models(service):
    answer = service.explain(tf.constant(PICTURES))
    assert answer[ERROR].numpy().tolist() == [b"", b"", UNKNOWN.encode(), b"", EMPTY.encode()]
    for row in GOOD:
        pixels = FORMAT.decode(tf.constant(PICTURES[row]))
        np.testing.assert_array_equal(answer[PICTURE][row], pixels)
        logits, read = service.model.transformed(pixels[None])
        shares = np.asarray(tf.nn.softmax(logits[0]))
        best = sorted(range(3), key=lambda index: -shares[index])[:2]
        assert [text.decode() for text in answer[LABELS][row].numpy()] == [NAMES[i] for i in best]
        np.testing.assert_allclose(answer[LABEL_SCORES][row], shares[best], rtol=1e-5)
        expected = np.clip(np.round(255 * np.asarray(read[1].images[0])), 0, 255)
        assert np.abs(answer[CROP][row] - expected).max() <= 1
        assert answer[CROP].dtype == tf.uint8 and answer[CROP].shape == (5, 5, 7, 3)
    less = service.classify(tf.constant(PICTURES))
    assert set(answer) - set(less) == {GRID, PICTURE}
    for key, value in less.items():
        np.testing.assert_array_equal(value, answer[key])


@pytest.mark.systems
@pytest.mark.parametrize("parallel", [1, 3])
def test_a_crop_is_what_its_grid_reads_in_the_picture(parallel):
    """Of one transformer: in depth a second reading blurs the first."""
    answer = made(1, parallel=parallel).explain(tf.constant(PICTURES))
    seen = np.asarray(answer[PICTURE], "float32")
    assert np.abs(sample(seen, answer[GRID]) - np.asarray(answer[CROP], "float32")).max() <= 0.51


def test_bad_pictures_are_empty_and_leave_their_neighbors_alone(service):
    together = service.explain(tf.constant(PICTURES))
    for row in (2, 4):
        assert not any(together[LABELS][row].numpy())
        for key in (LABEL_SCORES, CROP, GRID, PICTURE):
            assert not np.any(together[key][row]), key
    for row in GOOD:
        alone = service.explain(tf.constant(PICTURES[row : row + 1]))
        for key in (LABEL_SCORES, GRID):
            np.testing.assert_allclose(alone[key][0], together[key][row], atol=1e-5, err_msg=key)
    none = service.explain(tf.constant([], tf.string))
    assert {key: value.shape[0] for key, value in none.items()} == dict.fromkeys(together, 0)


def test_a_gray_crop_is_shown_in_three_channels():
    answer = made(grayscale=True).classify(tf.constant(PICTURES[:2]))
    crop = answer[CROP].numpy()
    assert crop.shape == (2, 5, 7, 3) and crop.any()
    np.testing.assert_array_equal(crop[..., 0], crop[..., 2])


def test_export_equals_the_service(service, version):
    assert not unservable_ops(version)
    saved = load(version.parent)
    assert isinstance(saved, SavedSpatialTransformer)
    for signature, (answer_of, _) in service.signatures().items():
        expected = answer_of(tf.constant(PICTURES))
        for row, answer in enumerate(saved.ask(signature, image=PICTURES, batch=2)):
            assert set(answer) == set(expected)
            for key, value in answer.items():
                if expected[key].dtype == tf.string:
                    np.testing.assert_array_equal(value, expected[key][row].numpy(), err_msg=key)
                else:
                    tolerance = 1e-5 if value.dtype == np.float32 else 1
                    other = np.asarray(expected[key][row], "float32")
                    np.testing.assert_allclose(value, other, atol=tolerance, err_msg=key)


@pytest.mark.systems
def test_over_rest(version):
    saved = load(version)
    with rest_server(Backend("seen", saved.outputs)) as address:
        asked = RestClient(address, "seen", deadline=120.0)
        answers = asked.ask("explain", image=PICTURES)
    for answer, expected in zip(answers, saved.ask("explain", image=PICTURES)):
        assert [text.decode() for text in answer[LABELS]] == [
            text.decode() for text in expected[LABELS]
        ]
        np.testing.assert_array_equal(answer[CROP], expected[CROP])
        np.testing.assert_allclose(answer[GRID], expected[GRID], atol=1e-6)


@pytest.mark.systems
def test_in_bfloat16_places_are_float32(service):
    model = made().model
    set_precision(model, "bfloat16")
    assert precision_of(model) == "bfloat16"
    answer = SpatialTransformerService(model, LabelTable(NAMES), FORMAT).explain(
        tf.constant(PICTURES)
    )
    expected = service.explain(tf.constant(PICTURES))
    assert answer[GRID].dtype == tf.float32
    np.testing.assert_allclose(answer[GRID], expected[GRID], atol=0.05)
    assert all(transformer.head.compute_dtype == "float32" for transformer in model.transformers)
    assert model.encoder.compute_dtype == "bfloat16"


@pytest.mark.systems
def test_without_transformers_labels_are_all(tmp_path):
    service = made(0)
    assert list(service.signatures()) == ["serving_default"]
    version = export_service(service, tmp_path / "alone", "card")
    saved = load(version)
    assert isinstance(saved, SavedClassifier)
    assert set(saved.ask("serving_default", image=PICTURES[:1])[0]) == {LABELS, LABEL_SCORES, ERROR}
    (tmp_path / "a.png").write_bytes(PICTURES[0])
    with pytest.raises(ValueError, match="Expected a SavedModel with a signature 'explain'"):
        saved.explain(tmp_path / "a.png")
