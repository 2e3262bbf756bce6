"""The Vision Transformer: sizes, pooling, sizes of pictures, precision, and use by other models."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models import (
    VIT_PRESETS,
    CaptionDecoder,
    CaptionDecoderConfig,
    Captioner,
    ImageClassifier,
    SmallConvEncoder,
    VisionTransformer,
    VisionTransformerConfig,
)
from keras_attn.models.captioner.soft_attention import SoftAttention
from tests.reference import parameter_counts

SIZES = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2)


def pictures(height=15, width=21, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (2, height, width, 3), np.uint8)


def changed(**changes):
    return dataclasses.replace(SIZES, **changes)


def stirred(model):
    """The model with random weights everywhere."""
    random = np.random.default_rng(11)
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(weight + random.normal(size=weight.shape, scale=0.3))
    return model


@pytest.mark.parametrize(
    ("preset", "published"),
    [
        ("vit_ti16", 5_717_416),
        ("vit_s16", 22_050_664),
        ("vit_b16", 86_567_656),
        ("vit_b32", 88_224_232),
        ("vit_l16", 304_326_632),
    ],
)
def test_presets_have_the_published_sizes_less_the_biases_of_keys(preset, published):
    config = dataclasses.replace(VIT_PRESETS[preset], num_classes=1000)
    assert parameter_counts.vision_transformer(config) == published


@pytest.mark.parametrize(
    "config", [SIZES, changed(pooling="mean", num_classes=7), changed(representation_dim=11)]
)
def test_parameters_are_counted_as_they_are(config):
    encoder = VisionTransformer(config)
    model = ImageClassifier(encoder, config.num_classes) if config.num_classes else encoder
    if config.num_classes:
        model(pictures())
    assert sum(
        weight.value.numpy().size for weight in model.weights
    ) == parameter_counts.vision_transformer(config)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_size": (15, 22)}, r"multiples of patch_size=3\. Received: image_size=\(15, 22\)"),
        ({"image_size": (15,)}, r"two sizes >= 1\. Received: image_size=\(15,\)"),
        ({"num_heads": 3}, r"hidden_dim divisible by num_heads=3\. Received: hidden_dim=10"),
        ({"num_layers": 0}, r"layers >= 1\. Received: num_layers=0"),
        ({"num_classes": 0}, r"classes >= 1"),
        ({"pooling": "max"}, r"pooling in \('token', 'mean', 'attention'\)\. Received: "),
        ({"activation": "tanh"}, r"activation in"),
        ({"num_registers": -1}, r"num_registers >= 0.*num_registers=-1, pooling='token'"),
        ({"num_registers": 2, "pooling": "mean"}, r"0 without pooling='token'.*pooling='mean'"),
        ({"gated": 1}, r"gated to be"),
        ({"dropout": 1.0}, r"0 <= dropout < 1\. Received: dropout=1\.0"),
        ({"epsilon": 0}, r"epsilon > 0\. Received: epsilon=0"),
        ({"pixel_deviation": (1, 0, 1)}, r"pixel_deviation of three numbers > 0"),
        ({"pixel_mean": (1, 1)}, r"pixel_mean of three numbers"),
    ],
)
def test_sizes_that_are_none(changes, message):
    with pytest.raises(ValueError, match=message):
        changed(**changes)


def test_pixels_are_normalized_inside():
    plain = stirred(VisionTransformer(changed(pixel_mean=(0,) * 3, pixel_deviation=(1,) * 3)))
    mean, deviation = (0.1, 0.2, 0.3), (0.7, 0.6, 0.5)
    encoder = VisionTransformer(changed(pixel_mean=mean, pixel_deviation=deviation))
    encoder.set_weights(plain.get_weights())
    pixels = 255 * (pictures() / 255 - mean) / deviation
    np.testing.assert_allclose(encoder(pictures()), plain(pixels.astype("float32")), atol=1e-4)
    np.testing.assert_array_equal(encoder(pictures()), encoder(pictures().astype("float32")))


@pytest.mark.parametrize("pooling", ["token", "mean"])
@pytest.mark.parametrize("size", [(15, 21), (33, 9)])
def test_shapes_at_its_own_and_at_another_size(pooling, size):
    encoder = stirred(VisionTransformer(changed(pooling=pooling)))
    grid, places = (size[0] // 3, size[1] // 3), size[0] * size[1] // 9 + (pooling == "token")
    features = encoder(pictures(*size))
    assert tuple(features.shape) == (2, *grid, 10)
    assert encoder.compute_output_shape((2, *size, 3)) == (2, *grid, 10)
    vector, weights = encoder.pool(pictures(*size))
    assert tuple(vector.shape) == (2, 10) and len(weights) == 2
    for weight in weights:
        assert tuple(weight.shape) == (2, 2, places, places)
        np.testing.assert_allclose(np.sum(weight, axis=-1), 1, atol=1e-5)
    if pooling == "mean":
        np.testing.assert_allclose(vector, np.mean(features, axis=(1, 2)), atol=1e-5)


def test_one_picture_at_a_time():
    encoder = stirred(VisionTransformer(SIZES))
    alone = np.concatenate([encoder(picture[None]) for picture in pictures()])
    np.testing.assert_allclose(encoder(pictures()), alone, atol=1e-4)


def test_dropout_is_for_training():
    encoder = VisionTransformer(changed(dropout=0.5))
    still = encoder(pictures())
    np.testing.assert_array_equal(encoder(pictures(), training=False), still)
    assert np.abs(encoder(pictures(), training=True) - still).max() > 1e-3
    assert (
        np.abs(encoder.pool(pictures(), training=True)[0] - encoder.pool(pictures())[0]).max() > 0
    )


def test_pictures_that_patches_do_not_fill():
    with pytest.raises(ValueError, match=r"multiple of patch_size=3\. Received: height=16"):
        VisionTransformer(SIZES)(pictures(16, 21))


def test_made_frozen_it_has_no_trainable_variables():
    encoder = VisionTransformer(changed(representation_dim=7), trainable=False)
    classifier = ImageClassifier(encoder, 3)
    classifier(pictures())
    assert [variable.path.split("/")[-2] for variable in classifier.trainable_variables] == [
        "head"
    ] * 2
    encoder.trainable = True
    assert len(classifier.trainable_variables) == len(classifier.variables)


def test_mixed_precision_keeps_float32_variables_and_logits():
    classifier = stirred(ImageClassifier(VisionTransformer(SIZES), 3))
    expected = classifier(pictures())
    keras.config.set_dtype_policy("mixed_bfloat16")
    low = ImageClassifier(VisionTransformer(SIZES), 3)
    low(pictures())
    low.set_weights(classifier.get_weights())
    outputs = low(pictures())
    assert outputs.dtype == tf.float32 and all(weight.dtype == "float32" for weight in low.weights)
    assert low.encoder(pictures()).dtype == tf.bfloat16
    np.testing.assert_allclose(outputs, expected, atol=0.1 * np.abs(expected).max())


@pytest.mark.parametrize(
    "make", [lambda: VisionTransformer(SIZES), lambda: SmallConvEncoder((5, 7), (2, 2))]
)
def test_a_saved_classifier_gives_the_same_logits(make, tmp_path):
    classifier = ImageClassifier(make(), 7, name="eyes")
    classifier(pictures())
    stirred(classifier)
    classifier.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.encoder.get_config() == classifier.encoder.get_config()
    assert (loaded.name, loaded.num_classes) == ("eyes", 7)
    np.testing.assert_array_equal(loaded(pictures()), classifier(pictures()))


@pytest.mark.slow
def test_a_classifier_learns():
    keras.utils.set_random_seed(3)
    model = ImageClassifier(VisionTransformer(SIZES), 2)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    labels = np.arange(32) % 2
    images = np.random.default_rng(3).integers(0, 80, (32, 15, 21, 3)).astype("uint8")
    images[labels == 0, 2:5, 3:7] = 255
    images[labels == 1, 9:12, 13:19] = 255
    history = model.fit(images, labels, epochs=15, verbose=0).history
    assert history["loss"][0] < 0.8 and history["loss"][-1] < 0.5 * history["loss"][0]
    assert history["accuracy"][-1] > 0.9


def test_eyes_of_a_captioner():
    sizes = CaptionDecoderConfig(13, 3, 7, 5, 0.0)
    model = Captioner(VisionTransformer(SIZES), CaptionDecoder(sizes, SoftAttention(5)), (15, 21))
    assert model.grid == (5, 7)
    batch = {"image": pictures(), "tokens": np.ones((2, 3, 4), "int32")}
    output = model(batch)
    assert tuple(output["weights"].shape) == (2, 3, 4, 35)
    again = type(model).from_config(model.get_config())
    assert again.encoder.config == SIZES


def test_no_classes():
    with pytest.raises(ValueError, match=r"classes >= 1\. Received: num_classes=0"):
        ImageClassifier(VisionTransformer(SIZES), 0)
