"""The classifier behind spatial transformers: each reads what the one before it read."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import Affine, SpatialTransformer, ThinPlateSpline, Translation
from keras_attn.layers.spatial_transformer import Transformed
from keras_attn.models.spatial_transformer.spatial_transformer_classifier import (
    SpatialTransformerClassifier,
    composed_grid,
)
from keras_attn.ops.sample import sample

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RANDOM = np.random.default_rng(29)
IMAGES = RANDOM.integers(0, 256, (3, 13, 11, 3), "uint8")


def look():
    return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])


def transformer(transform, size, initializer="he_normal", **options):
    return SpatialTransformer(
        look(), transform, size, kernel_initializer=initializer, return_grid=True, **options
    )


def classifier(*transformers, grayscale=False, dropout=0.0, num_parallel=1):
    keras.utils.set_random_seed(7)
    encoder = keras.layers.Conv2D(2, 3)
    model = SpatialTransformerClassifier(transformers, encoder, 5, dropout, grayscale, num_parallel)
    model.build((None, 13, 11, 3))
    return model


def two_in_depth(**options):
    first = transformer(Affine(), (7, 11), bound=0.3)
    return classifier(first, transformer(ThinPlateSpline(2, 3), (5, 7), bound=0.2), **options)


def three_in_parallel(**options):
    """Three side by side at three angles, then one."""
    views = [
        transformer(Affine(), (7, 11), bound=0.3, initial_theta=Affine().rotation(angle))
        for angle in (-0.5, 0.0, 0.7)
    ]
    last = transformer(ThinPlateSpline(2, 3), (5, 7), bound=0.2)
    return classifier(*views, last, num_parallel=3, **options)


@pytest.mark.parametrize("grayscale", [False, True])
def test_logits_equal_the_parts_one_by_one(grayscale):
    model = two_in_depth(grayscale=grayscale)
    logits, read = model.transformed(IMAGES)
    seen = IMAGES / np.float32(255)
    if grayscale:
        seen = (seen @ np.array([0.299, 0.587, 0.114], "float32"))[..., None]
    for output, layer in zip(read, model.transformers):
        np.testing.assert_allclose(output.images, sample(seen, output.grid), atol=1e-5)
        np.testing.assert_allclose(output.theta, layer(seen).theta, atol=1e-5)
        seen = np.asarray(output.images)
    features = np.asarray(model.encoder(seen)).reshape(3, -1)
    kernel, bias = model.head.get_weights()
    np.testing.assert_allclose(logits, features @ kernel + bias, atol=1e-5)
    np.testing.assert_array_equal(model(IMAGES), logits)
    assert [output.images.shape for output in read] == [
        (3, 7, 11, 1 if grayscale else 3),
        (3, 5, 7, 1 if grayscale else 3),
    ]


def test_the_largest_features_of_parallel_transformers_count():
    """Features are maxima over those of each view alone; read is the view that is closest to it."""
    model = three_in_parallel()
    logits, read = model.transformed(IMAGES)
    features, views = [], []
    for first in model.transformers[:3]:
        alone = SpatialTransformerClassifier([first, model.transformers[3]], model.encoder, 5)
        alone.build((None, 13, 11, 3))
        views.append(alone.transformed(IMAGES)[1])
        features.append(np.asarray(model.encoder(views[-1][-1].images)).reshape(3, -1))
    largest = np.max(features, axis=0)
    assert all(0 < np.mean(own == largest) < 1 for own in features)
    kernel, bias = model.head.get_weights()
    np.testing.assert_allclose(logits, largest @ kernel + bias, atol=1e-5)
    nearest = np.argmin([np.abs(largest - f).sum(-1) for f in features], axis=0)
    np.testing.assert_array_equal(model.transformed_view(IMAGES)[2], nearest)
    for row, best in enumerate(nearest):
        for actual, expected in zip(read, views[best], strict=True):
            for value, own in zip(actual, expected, strict=True):
                np.testing.assert_allclose(value[row], own[row], atol=1e-5)


def test_a_view_that_is_not_chosen_spoils_nothing():
    model = three_in_parallel()
    view = keras.ops.convert_to_tensor([1, 1, 1])
    grid = np.full((9, 2), np.nan, "float32")
    grid[1::3] = [[3.0, 5.0]]
    chosen = model._of_view(Transformed(grid, grid, grid), view)
    np.testing.assert_array_equal(chosen.theta, [[3.0, 5.0]] * 3)


def test_views_of_other_pictures_change_nothing():
    model = three_in_parallel()
    np.testing.assert_allclose(model(IMAGES[1:2]), model(IMAGES)[1:2], atol=1e-5)


def test_parallel_transformers_that_agree_are_one():
    first = transformer(Affine(), (7, 11), bound=0.3)
    twins = [first, SpatialTransformer.from_config(first.get_config())]
    model = classifier(*twins, num_parallel=2)
    twins[1].set_weights(first.get_weights())
    alone = classifier(first)
    alone.encoder.set_weights(model.encoder.get_weights())
    alone.head.set_weights(model.head.get_weights())
    np.testing.assert_allclose(model(IMAGES), alone(IMAGES), atol=1e-5)


def test_without_transformers_it_is_the_cnn_alone():
    model = classifier()
    logits, read = model.transformed(IMAGES)
    assert read == [] and logits.shape == (3, 5)
    features = np.asarray(model.encoder(IMAGES / np.float32(255))).reshape(3, -1)
    kernel, bias = model.head.get_weights()
    np.testing.assert_allclose(logits, features @ kernel + bias, atol=1e-5)


def test_maps_in_depth_compose():
    """Two affine maps in depth read where the product of their matrices says."""
    model = classifier(
        transformer(Affine(), (7, 11), bound=0.2), transformer(Affine(), (5, 7), bound=0.1)
    )
    _, read = model.transformed(IMAGES)
    grid = np.asarray(composed_grid(read))
    first, second = (
        np.concatenate([np.reshape(output.theta, (3, 2, 3)), [[[0, 0, 1]]] * 3], axis=1)
        for output in read
    )
    x, y = np.meshgrid((np.arange(7) * 2 + 1) / 7 - 1, (np.arange(5) * 2 + 1) / 5 - 1)
    points = np.stack([x, y, np.ones_like(x)], axis=-1)
    within = np.abs(np.asarray(read[1].grid)) < 0.8
    expected = np.einsum("bij,bjk,hwk->bhwi", first, second, points)[..., :2]
    assert within.mean() > 0.5
    inside = within.all(axis=-1)
    np.testing.assert_allclose(grid[inside], expected[inside], atol=1e-5)
    np.testing.assert_array_equal(composed_grid(read[:1]), read[0].grid)


@pytest.mark.parametrize("made", [two_in_depth, three_in_parallel])
def test_everything_learns_and_is_saved(made, tmp_path):
    model = made(dropout=0.3)
    before = [np.array(weight) for weight in model.get_weights()]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(IMAGES, training=True) ** 2)
    for weight, gradient in zip(model.weights, tape.gradient(loss, model.trainable_weights)):
        assert np.isfinite(gradient).all() and np.any(gradient), weight.path
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again(IMAGES), model(IMAGES), atol=1e-6)
    for weight, loaded in zip(before, again.get_weights()):
        np.testing.assert_array_equal(weight, loaded)


def test_a_model_whose_views_were_mixed_is_refused():
    config = three_in_parallel().get_config()
    del config["views"]
    with pytest.raises(ValueError, match="a model made when their predictions were mixed"):
        SpatialTransformerClassifier.from_config(config)
    config = two_in_depth().get_config()
    del config["views"]
    assert SpatialTransformerClassifier.from_config(config).num_parallel == 1


def test_bad_arguments():
    for wrong in (
        keras.layers.Dense(3),
        SpatialTransformer(look(), Affine()),
        transformer(Translation(), (3, 5), data_format="channels_first"),
        transformer(Translation(), (3, 5), align_corners=True),
    ):
        with pytest.raises(ValueError, match=r"Expected SpatialTransformers with .*return_grid"):
            classifier(wrong)
    with pytest.raises(ValueError, match="Expected num_classes >= 1"):
        SpatialTransformerClassifier([], keras.layers.Flatten(), 0)
    with pytest.raises(ValueError, match="Expected num_parallel >= 1"):
        classifier(num_parallel=0)
    same, other = transformer(Affine(), (3, 5)), transformer(Affine(), (5, 3))
    for few in ([], [same], [same, other], [same, transformer(ThinPlateSpline(2, 3), (3, 5))]):
        with pytest.raises(ValueError, match="Expected the first 2 transformers to have the same"):
            classifier(*few, num_parallel=2)
