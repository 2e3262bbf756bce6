"""Pictures and texts in one space."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_attn.models import (
    DualEncoder,
    SmallConvEncoder,
    TextEncoder,
    TransformerConfig,
    VisionTransformer,
    VisionTransformerConfig,
)
from keras_attn.models.dual_encoder.dual_encoder import MOST_SCALE
from keras_attn.training import ContrastiveLoss

SIZES = TransformerConfig(
    17, None, 2, 6, 7, 2, 3, 3, 0.0, normalize_first=True, positions="learned",
    max_sequence_length=7,
)  # fmt: skip
TOKENS = np.array([[2, 5, 7, 3, 0, 0], [2, 11, 13, 5, 7, 3], [2, 3, 0, 0, 0, 0]], "int32")


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(3)
    encoder = VisionTransformer(VisionTransformerConfig((6, 10), 2, 1, 6, 7, 2))
    made = DualEncoder(encoder, TextEncoder(SIZES), (6, 10), 5)
    made.build()
    return made


def pictures(count):
    return np.random.default_rng(5).integers(0, 256, (count, 6, 10, 3)).astype("uint8")


def test_logits_are_scaled_cosines(model):
    images = pictures(2)
    u, v = (np.asarray(each) for each in (model.encode_images(images), model.encode_texts(TOKENS)))
    for vectors in (u, v):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1, rtol=1e-5)
    logits = model({"image": images, "tokens": TOKENS})
    np.testing.assert_allclose(logits, u @ v.T / 0.07, rtol=1e-4, atol=1e-5)


def test_a_vector_is_that_of_the_first_end(model):
    encoder = model.text_encoder
    hidden, weights = encoder(TOKENS, return_attention_scores=True)
    vector, _ = encoder.pool(TOKENS)
    np.testing.assert_allclose(vector, np.asarray(hidden)[[0, 1, 2], [3, 5, 1]])
    longer = np.pad(TOKENS, [(0, 0), (0, 1)])
    np.testing.assert_allclose(encoder.pool(longer)[0], vector, rtol=1e-5, atol=1e-6)
    changed = TOKENS.copy()
    changed[0, 4:] = 9
    np.testing.assert_allclose(encoder.pool(changed)[0][0], vector[0], rtol=1e-5, atol=1e-6)
    rows = np.asarray(weights[1])[1]
    assert len(weights) == 2 and rows.shape == (2, 6, 6)
    np.testing.assert_allclose(rows.sum(-1), 1, rtol=1e-5)
    assert not np.triu(rows, 1).any()


def test_any_picture_encoder(model):
    other = DualEncoder(SmallConvEncoder((3,), (3,)), model.text_encoder, (6, 10), 5)
    other.build()
    u = other.encode_images(pictures(3))
    grid = np.asarray(other.image_encoder(pictures(3)), "float32").mean((1, 2))
    expected = grid @ np.asarray(other.image_projection.kernel)
    expected /= np.linalg.norm(expected, axis=-1, keepdims=True)
    np.testing.assert_allclose(u, expected, rtol=1e-4, atol=1e-5)
    zeros = other.image_projection
    zeros.kernel.assign(ops.zeros_like(zeros.kernel))
    assert not np.any(other.encode_images(pictures(2)))


@pytest.mark.slow
def test_training_finds_the_pairs_and_bounds_the_scale(model, tmp_path):
    model = keras.models.clone_model(model)
    model.compile(keras.optimizers.Adam(0.01), ContrastiveLoss(), jit_compile=False)
    colors = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], "uint8")
    images = np.broadcast_to(colors[:, None, None], (3, 6, 10, 3))
    batch, numbers = {"image": images, "tokens": TOKENS}, np.arange(3)
    model.fit(batch, numbers, epochs=40, verbose=0)
    logits = ops.convert_to_numpy(model(batch))
    assert logits.argmax(0).tolist() == logits.argmax(1).tolist() == [0, 1, 2]
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(batch), logits, rtol=1e-5, atol=1e-5)
    model.logit_scale.assign(9.0)
    model.fit(batch, numbers, verbose=0)
    assert float(model.logit_scale) == pytest.approx(MOST_SCALE)


def test_bad_arguments(model):
    with pytest.raises(ValueError, match="Expected a TextEncoder"):
        DualEncoder(model.image_encoder, keras.layers.Dense(3), (6, 10))
    with pytest.raises(ValueError, match="Expected two sizes"):
        DualEncoder(model.image_encoder, model.text_encoder, (6,))
    with pytest.raises(ValueError, match=r"Expected at most 7 positions\. Received: 8"):
        model.encode_texts(np.ones((2, 8), "int32"))
    with pytest.raises(ValueError, match="Expected tokens of 2 axes"):
        model.encode_texts(np.ones((2, 3, 5), "int32"))
