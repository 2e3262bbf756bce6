"""The service of spatial transformers and its export: labels, crops and where they were read."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import (
    CROP,
    ERROR,
    GRID,
    LABEL_SCORES,
    LABELS,
    MISSING_ROWS,
    PICTURE,
    VIEW,
)
from keras_attn.images.formats.reasons import EMPTY, UNKNOWN
from keras_attn.ops.sample import sample
from keras_attn.saved.loading import load
from keras_attn.serving.client import RestClient
from keras_attn.serving.export import export_service
from keras_attn.serving.precision import precision_of, set_precision
from tests.serving.servers import Backend, rest_server
from tests.serving.tiny_labels import CROPPED_FORMAT, NAMES, spatial_transformer_service
from tests.serving.tiny_service import PICTURES

GOOD = [0, 1, 3]


@pytest.fixture(scope="module")
def service(service_named):
    return service_named("crops")


@pytest.fixture(scope="module")
def version(version_named):
    return version_named("crops")


def test_answers_are_the_models(service):
    answer = service.explain(tf.constant(PICTURES))
    assert answer[ERROR].numpy().tolist() == [b"", b"", UNKNOWN.encode(), b"", EMPTY.encode()]
    for row in GOOD:
        pixels = CROPPED_FORMAT.decode(tf.constant(PICTURES[row]))
        np.testing.assert_array_equal(answer[PICTURE][row], pixels)
        logits, read = service.model.transformed(pixels[None])
        shares = np.asarray(tf.nn.softmax(logits[0]))
        best = sorted(range(3), key=lambda index: -shares[index])[:2]
        assert [text.decode() for text in answer[LABELS][row].numpy()] == [NAMES[i] for i in best]
        np.testing.assert_allclose(answer[LABEL_SCORES][row], shares[best], rtol=1e-5)
        expected = np.clip(np.round(255 * np.asarray(read[1].images[0])), 0, 255)
        assert np.abs(answer[CROP][row] - expected).max() <= 1
        assert answer[CROP].dtype == tf.uint8 and answer[CROP].shape == (5, 5, 7, 3)
    less = service.answer(tf.constant(PICTURES))
    assert set(answer) - set(less) == {GRID, PICTURE, VIEW}
    for key, value in less.items():
        np.testing.assert_array_equal(value, answer[key])


@pytest.mark.systems
@pytest.mark.parametrize("parallel", [1, 3])
def test_a_crop_is_what_its_grid_reads_in_the_picture(parallel):
    """Of one transformer: in depth a second reading blurs the first."""
    answer = spatial_transformer_service(1, parallel=parallel).explain(tf.constant(PICTURES))
    seen = np.asarray(answer[PICTURE], "float32")
    assert np.abs(sample(seen, answer[GRID]) - np.asarray(answer[CROP], "float32")).max() <= 0.51


def test_a_gray_crop_is_shown_in_three_channels():
    answer = spatial_transformer_service(grayscale=True).answer(tf.constant(PICTURES[:2]))
    crop = answer[CROP].numpy()
    assert crop.shape == (2, 5, 7, 3) and crop.any()
    np.testing.assert_array_equal(crop[..., 0], crop[..., 2])


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
    low = spatial_transformer_service()
    model = low.model
    set_precision(model, "bfloat16")
    assert precision_of(model) == "bfloat16"
    answer = low.explain(tf.constant(PICTURES))
    expected = service.explain(tf.constant(PICTURES))
    assert answer[GRID].dtype == tf.float32
    np.testing.assert_allclose(answer[GRID], expected[GRID], atol=0.05)
    assert all(transformer.head.compute_dtype == "float32" for transformer in model.transformers)
    assert model.encoder.compute_dtype == "bfloat16"


@pytest.mark.systems
def test_without_transformers_labels_are_all(tmp_path):
    service = spatial_transformer_service(0)
    assert list(service.signatures()) == ["serving_default", "score"]
    version = export_service(service, tmp_path / "alone", "card")
    saved = load(version)
    (answer,) = saved.ask("serving_default", image=PICTURES[:1])
    assert set(answer) == {LABELS, LABEL_SCORES, MISSING_ROWS, ERROR}
    (tmp_path / "a.png").write_bytes(PICTURES[0])
    with pytest.raises(ValueError, match="Expected a SavedModel with views of where it looked"):
        saved.explain(tmp_path / "a.png")
