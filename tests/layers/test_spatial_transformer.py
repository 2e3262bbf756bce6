import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.layers import (
    Affine,
    AttentionWindow,
    Projective,
    Similarity,
    SpatialTransformer,
    ThinPlateSpline,
    Translation,
)
from keras_attn.ops.sample import sample
from keras_attn.ops.sampling_grids import target_points

RANDOM = np.random.default_rng(17)
TRANSFORMS = [Translation(), AttentionWindow(), Similarity(), Affine(), Projective()]
TRANSFORMS += [ThinPlateSpline(2, 3), ThinPlateSpline(4, 4)]
IMAGES = RANDOM.normal(size=(3, 11, 13, 2)).astype("float32")
every_transform = pytest.mark.parametrize("transform", TRANSFORMS, ids=str)


def localization(units=5):
    return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(units, "tanh")])


def moved(layer, scale=0.3):
    """The layer with a head that no longer is the identity's."""
    for weight in layer.head.weights:
        weight.assign(scale * RANDOM.normal(size=weight.shape))
    return layer


@every_transform
def test_it_begins_as_the_identity(transform):
    layer = SpatialTransformer(localization(), transform, return_grid=True)
    output = layer(IMAGES)
    np.testing.assert_allclose(output.images, IMAGES, atol=1e-5)
    expected = np.broadcast_to(target_points(11, 13), (3, 11, 13, 2))
    np.testing.assert_allclose(output.grid, expected, atol=1e-6)
    np.testing.assert_allclose(output.theta, np.tile(transform.identity(), (3, 1)))
    assert transform.parameters == output.theta.shape[1]


@pytest.mark.parametrize("transform", TRANSFORMS[2:], ids=str)
def test_it_begins_at_a_rotation(transform):
    start = transform.rotation(0.7)
    layer = SpatialTransformer(
        localization(), transform, (5, 7), bound=0.1, return_grid=True, initial_theta=start
    )
    output = layer(IMAGES)
    turn = [[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]]
    expected = target_points(5, 7) @ np.transpose(turn)
    np.testing.assert_allclose(output.grid, np.tile(expected, (3, 1, 1, 1)), atol=1e-5)
    again = SpatialTransformer.from_config(layer.get_config())
    np.testing.assert_allclose(again.initial_theta, start, rtol=1e-6)
    np.testing.assert_allclose(transform.rotation(0.0), transform.identity(), atol=1e-6)
    output = moved(layer, 9.0)(IMAGES)
    assert 0.09 < np.abs(output.theta - start).max() < 0.1 + 1e-6


@pytest.mark.parametrize("transform", TRANSFORMS[:2], ids=str)
def test_some_have_no_rotations(transform):
    with pytest.raises(ValueError, match=r"Expected a transform with rotations.*Received: [TA]"):
        transform.rotation(0.5)


@every_transform
def test_it_reads_its_own_grid_of_its_own_parameters(transform):
    options = {"interpolation": "bilinear", "padding": "border", "align_corners": True}
    layer = SpatialTransformer(localization(), transform, (5, 7), return_grid=True, **options)
    layer.build(IMAGES.shape)
    output = moved(layer)(IMAGES)
    theta = transform.identity() + layer.head(layer.localization(IMAGES))
    np.testing.assert_allclose(output.theta, theta, atol=1e-6)
    expected = transform.grid(theta, target_points(5, 7, align_corners=True))
    np.testing.assert_allclose(output.grid, expected, atol=1e-6)
    np.testing.assert_array_equal(output.images, sample(IMAGES, output.grid, **options))


@every_transform
def test_the_gradient_reaches_every_number_of_theta(transform):
    layer = SpatialTransformer(localization(), transform)
    layer.build(IMAGES.shape)
    moved(layer)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(layer(IMAGES)))
    gradient = tape.gradient(loss, layer.head.bias.value)
    assert np.isfinite(gradient).all() and np.all(np.abs(gradient) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("transform", [Affine(), ThinPlateSpline(2, 3)], ids=str)
def test_a_model_with_two_in_depth_and_two_in_parallel_learns_and_is_saved(transform, tmp_path):
    inputs = keras.Input((11, 13, 2))
    first = SpatialTransformer(localization(), transform, name="first")(inputs)
    features = keras.layers.Conv2D(3, 3, activation="relu")(first)
    branches = [
        SpatialTransformer(localization(), transform, (5, 7), name=name)(features)
        for name in ("left", "right")
    ]
    outputs = keras.layers.Dense(4)(keras.layers.Flatten()(keras.layers.Concatenate()(branches)))
    model = keras.Model(inputs, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss)
    labels = np.array([0, 2, 3])
    losses = model.fit(IMAGES, labels, epochs=13, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    for name in ("first", "left", "right"):
        assert np.abs(model.get_layer(name).head.kernel).max() > 0
        assert np.abs(model.get_layer(name).localization.weights[0]).max() > 0
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.get_layer("left").transform == transform
    np.testing.assert_allclose(again(IMAGES), model(IMAGES), atol=1e-6)
    model.export(tmp_path / "saved", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "saved")
    np.testing.assert_allclose(loaded.serve(IMAGES[:2]), model(IMAGES[:2]), atol=1e-5)


def test_two_with_the_same_localization_are_saved(tmp_path):
    inputs, shared = keras.Input((11, 13, 2)), localization()
    outputs = [
        SpatialTransformer(shared, transform)(inputs)
        for transform in (Affine(), ThinPlateSpline(2, 3))
    ]
    model = keras.Model(inputs, outputs)
    for layer in model.layers[1:]:
        moved(layer)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.layers[1].localization is again.layers[2].localization
    assert len(again.weights) == len(model.weights) == 6
    for output, wanted in zip(again(IMAGES), model(IMAGES)):
        np.testing.assert_allclose(output, wanted, atol=1e-6)


def test_channels_first_is_channels_last_turned():
    last = SpatialTransformer(keras.layers.GlobalAveragePooling2D(), Affine(), (5, 7))
    pool = keras.layers.GlobalAveragePooling2D(data_format="channels_first")
    first = SpatialTransformer(pool, Affine(), (5, 7), data_format="channels_first")
    turned = np.moveaxis(IMAGES, -1, 1)
    last.build(IMAGES.shape)
    first.build(turned.shape)
    first.set_weights(moved(last).get_weights())
    assert first.compute_output_shape(turned.shape) == (3, 2, 5, 7)
    np.testing.assert_allclose(first(turned), np.moveaxis(last(IMAGES), -1, 1), atol=1e-5)


def test_a_learned_grid_begins_as_the_pixels_and_learns():
    layer = SpatialTransformer(localization(), ThinPlateSpline(2, 2), (3, 5), learned_grid=True)
    fixed = SpatialTransformer(localization(), ThinPlateSpline(2, 2), (3, 5))
    np.testing.assert_allclose(layer(IMAGES), fixed(IMAGES), atol=1e-5)
    np.testing.assert_array_equal(layer.points, target_points(3, 5))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(IMAGES) ** 2)
    gradient = tape.gradient(loss, layer.points.value)
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0


def test_a_bound_holds_every_number():
    layer = SpatialTransformer(localization(), Affine(), bound=0.2, return_grid=True)
    layer.build(IMAGES.shape)
    output = moved(layer, 100.0)(IMAGES)
    distance = np.abs(output.theta - Affine().identity())
    assert distance.max() <= 0.2 + 1e-6 and distance.max() > 0.19


def test_places_are_of_float32_in_half_precision():
    policy = "mixed_bfloat16"
    images = RANDOM.normal(size=(2, 7, 301, 3)).astype("float32")
    pool = keras.layers.GlobalAveragePooling2D()
    layer = SpatialTransformer(pool, Affine(), return_grid=True, dtype=policy)
    output = layer(images)
    assert (output.images.dtype, output.theta.dtype, output.grid.dtype) == (
        "bfloat16",
        *2 * ["float32"],
    )
    np.testing.assert_array_equal(output.images, tf.cast(images, "bfloat16"))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"transform": "affine"}, r"Expected a Transform, such as Affine\(\).*'affine'"),
        ({"transform": Affine}, r"Expected a Transform"),
        ({"localization": 3}, "Expected a layer or a model. Received: localization=3"),
        ({"localization": lambda images: images}, "Expected a layer or a model"),
        ({"output_size": (0, 5)}, r"Received: \(0, 5\)"),
        ({"output_size": 3}, r"Expected \(height, width\) or None\. Received: output_size=3"),
        ({"output_size": (3, 4, 5)}, r"Received: output_size=\(3, 4, 5\)"),
        ({"interpolation": "cubic"}, r"interpolation in \('bilinear', 'nearest'\)"),
        ({"padding": "wrap"}, "Received: padding='wrap'"),
        ({"data_format": "NHWC"}, "Received: data_format='NHWC'"),
        ({"bound": 0.0}, r"Expected a bound between 1e-6 and 1e6, or None\. Received: bound=0.0"),
        ({"bound": "1"}, "Received: bound='1'"),
        ({"initial_theta": (0.0, 1.0)}, r"theta of 6 finite numbers\. Received: .*=\(0\.0, 1\.0\)"),
        ({"initial_theta": [1, 0, 0, 0, np.nan, 0]}, "Expected an initial theta of 6 finite"),
        ({"initial_theta": [[1, 0, 0], [0, 1]]}, "Expected an initial theta of 6 finite"),
        ({"initial_theta": np.eye(2, 3)}, "Expected an initial theta of 6 finite"),
        ({"initial_theta": 6 * [1j]}, "Expected an initial theta of 6 finite"),
        ({"initial_theta": "affine"}, "Expected an initial theta of 6 finite numbers.*'affine'"),
        ({"initial_theta": 1.0}, "Expected an initial theta of 6 finite"),
    ],
)
def test_bad_arguments(choices, message):
    with pytest.raises(ValueError, match=message):
        SpatialTransformer(**{"localization": localization(), "transform": Affine(), **choices})


def test_bad_lattices_and_images():
    with pytest.raises(ValueError, match=r"Expected rows >= 2\. Received: rows=1"):
        ThinPlateSpline(1, 3)
    layer = SpatialTransformer(localization(), Affine())
    for shape in ((1, 5, 3), (None, None, 3), (5, 5, None)):
        with pytest.raises(ValueError, match="at least 2 x 2 pixels, size and channels known"):
            layer(keras.Input(shape))
    for transform in (Affine(), ThinPlateSpline(2, 3)):
        for width in (5, 24):
            with pytest.raises(ValueError, match=r"Expected theta of shape \(B, \d+\)"):
                transform.grid(np.ones((2, width), "float32"), target_points(2, 3))


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.pool = keras.layers.GlobalAveragePooling2D()

    def call(self, images, training=None):
        return self.pool(images)


def test_a_model_of_ones_own_localizes():
    inputs = keras.Input((11, 13, 2))
    model = keras.Model(inputs, SpatialTransformer(Own(), Affine(), (5, 7))(inputs))
    assert model(IMAGES).shape == (3, 5, 7, 2)
    built = Own()
    built(IMAGES)
    assert SpatialTransformer(built, Affine())(IMAGES).shape == IMAGES.shape


def test_a_learned_grid_keeps_its_size():
    pool = keras.layers.GlobalAveragePooling2D()
    layer = SpatialTransformer(pool, Affine(), learned_grid=True)
    layer(IMAGES)
    assert layer.compute_output_shape((3, 5, 7, 2)) == (3, 11, 13, 2)
    assert layer(IMAGES[:, :5, :7]).shape == (3, 11, 13, 2)
