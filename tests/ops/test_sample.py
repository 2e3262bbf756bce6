from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.ops.sample import INTERPOLATIONS, PADDINGS, sample
from keras_attn.ops.sampling_grids import affine_grid, target_points
from tests.quick import rows
from tests.reference.sampling import lecture_gradients, lecture_sample

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "sampling.npz")
RANDOM = np.random.default_rng(11)
every_kind = pytest.mark.parametrize("interpolation", INTERPOLATIONS)
every_padding = pytest.mark.parametrize("padding", PADDINGS)
both = pytest.mark.parametrize("align_corners", [False, True])
under_xla = pytest.mark.parametrize("jit", rows([False, True], {False}))


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def with_gradients(images, grid, upstream, jit=False, **choices):
    @tf.function(autograph=False, jit_compile=jit)
    def sampled(images, grid):
        with tf.GradientTape() as tape:
            tape.watch((images, grid))
            values = sample(images, grid, **choices)
        gradients = tape.gradient(
            values, (images, grid), upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        return values, *map(tf.convert_to_tensor, gradients)

    return sampled(tf.constant(images), tf.constant(grid))


def check_torchs(inputs, names, jit, **choices):
    """`sample` of the golden `inputs`, beside torch's answers of the names' endings."""
    arrays = with_gradients(*(GOLDEN[name] for name in inputs), jit, **choices)
    for name, array in zip(("values", "to_images", "to_grid"), arrays):
        np.testing.assert_allclose(array, GOLDEN[names + name], rtol=1e-5, atol=1e-5, err_msg=name)


@under_xla
@both
@every_padding
@every_kind
def test_values_and_gradients_are_torchs(interpolation, padding, align_corners, jit):
    choices = {"interpolation": interpolation, "padding": padding, "align_corners": align_corners}
    names = f"{interpolation} {padding} {align_corners} "
    check_torchs(("images", "grid", "upstream"), names, jit, **choices)


@under_xla
@every_padding
@every_kind
def test_at_integers_gradients_are_torchs_of_the_right_side(interpolation, padding, jit):
    choices = {"interpolation": interpolation, "padding": padding, "align_corners": True}
    names = f"{interpolation} {padding} True integers_"
    check_torchs(("few", "integers", "upstream_integers"), names, jit, **choices)


def off_the_integers(grid, size, align_corners):
    """Points moved off the places where the gradient jumps, by 0.1 pixels at least."""
    half = (size - 1) / 2 if align_corners else size / 2
    places = grid * half + (size - 1) / 2
    places = np.floor(places) + np.clip(places - np.floor(places), 0.1, 0.9)
    return (places - (size - 1) / 2) / half


@both
def test_the_lectures_sums_and_sub_gradients(align_corners):
    images, upstream = normal(2, 3, 5, 2), normal(2, 7, 3, 2)
    grid = RANDOM.uniform(-1.6, 1.6, (2, 7, 3, 2))
    grid[..., 0] = off_the_integers(grid[..., 0], 5, align_corners)
    grid[..., 1] = off_the_integers(grid[..., 1], 3, align_corners)
    grid = grid.astype("float32")
    values, *gradients = with_gradients(images, grid, upstream, align_corners=align_corners)
    expected = lecture_sample(images, grid, align_corners)
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    expected = lecture_gradients(images, grid, upstream, align_corners)
    for gradient, wanted in zip(gradients, expected):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-4)


@every_padding
@both
def test_finite_differences_of_the_grid(padding, align_corners):
    images, upstream = normal(1, 5, 7, 3), normal(1, 3, 2, 3)
    grid = RANDOM.uniform(-0.9, 0.9, (1, 3, 2, 2))
    for axis, size in ((0, 7), (1, 5)):
        grid[..., axis] = off_the_integers(grid[..., axis], size, align_corners)
    choices = {"padding": padding, "align_corners": align_corners}
    _, _, to_grid = with_gradients(images, grid.astype("float32"), upstream, **choices)
    for place in np.ndindex(grid.shape):
        step = np.zeros_like(grid)
        step[place] = 1e-2
        above, below = (
            float(np.sum(upstream * sample(images, grid + sign * step, **choices)))
            for sign in (1, -1)
        )
        np.testing.assert_allclose(to_grid[place], (above - below) / 2e-2, rtol=1e-2, atol=1e-2)


@under_xla
@pytest.mark.parametrize("size", [(2, 3), (28, 28), (41, 60), (224, 127)])
@both
@every_padding
@every_kind
def test_the_identity_is_exact(interpolation, padding, align_corners, size, jit):
    images = normal(2, *size, 1)
    points = target_points(*size, align_corners)

    @tf.function(autograph=False, jit_compile=jit)
    def transformed(images, theta):
        return sample(images, affine_grid(theta, points), interpolation, padding, align_corners)

    identity = tf.constant([[[1.0, 0, 0], [0, 1, 0]]] * 2)
    np.testing.assert_array_equal(transformed(tf.constant(images), identity), images)


@pytest.mark.parametrize("size", [(3, 5), (7, 2), (1, 11), (28, 56)])
def test_the_identity_at_another_size_is_a_bilinear_resize(size):
    images = normal(2, 7, 11, 3)
    grid = np.repeat(target_points(*size)[None], 2, axis=0)
    expected = tf.image.resize(images, size)
    np.testing.assert_allclose(sample(images, grid, padding="border"), expected, atol=1e-5)


@under_xla
@every_padding
@every_kind
def test_points_that_are_far_outside_or_no_numbers_read_nothing_else(interpolation, padding, jit):
    far = [np.nan, np.inf, -np.inf, *np.float32([1e30, -1e30, 3e38])]
    images, grid = normal(7, 3, 5, 2), np.zeros((7, 1, 2, 2), "float32")
    grid[:6, 0, 1] = np.stack([far, far], axis=-1)
    upstream = normal(7, 1, 2, 2)
    values, to_images, to_grid = with_gradients(
        images, grid, upstream, jit, interpolation=interpolation, padding=padding
    )
    assert all(np.isfinite(array).all() for array in (values, to_images, to_grid))
    np.testing.assert_array_equal(
        values[6], sample(images[6:], grid[6:], interpolation, padding)[0]
    )
    for row, value in enumerate(far):
        output = values[row, 0, 1].numpy()
        if padding == "reflection" and abs(value) == np.float32(1e30):
            pixels = images[row].reshape(-1, 2)
            assert (pixels.min(0) <= output).all() and (output <= pixels.max(0)).all()
            continue
        np.testing.assert_array_equal(to_grid[row, 0, 1], 0)
        if padding == "zeros":
            np.testing.assert_array_equal(output, 0)
        else:
            assert any(np.array_equal(output, pixel) for pixel in images[row].reshape(-1, 2))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_images_of_other_precisions_are_read_at_places_of_float32(dtype):
    images = tf.cast(normal(2, 3, 131, 2), dtype)
    grid = RANDOM.uniform(-1, 1, (2, 5, 7, 2)).astype("float32")
    values = sample(images, grid)
    assert values.dtype == dtype
    expected = sample(tf.cast(images, "float32"), grid)
    np.testing.assert_array_equal(values, tf.cast(expected, dtype))


@pytest.mark.parametrize(
    ("images", "grid", "choices", "message"),
    [
        ((2, 3, 5), (2, 1, 1, 2), {}, r"Received: shape=\(2, 3, 5\)"),
        ((2, 1, 5, 1), (2, 1, 1, 2), {}, r"at least 2 x 2 pixels.*Received: shape=\(2, 1, 5, 1\)"),
        ((2, 3, 5, 1), (2, 1, 1, 3), {}, r"Expected a grid.*Received: shape=\(2, 1, 1, 3\)"),
        ((2, 3, 5, 1), (2, 0, 1, 2), {}, r"at least one point.*Received: shape=\(2, 0, 1, 2\)"),
        ((2, 3, 5, 1), (7, 1, 1, 2), {}, r"as many grids as images, 2\. Received: 7 grids"),
        ((2, 3, 5, 1), (2, 1, 1, 2), {"interpolation": "cubic"}, "Received: interpolation='cubic'"),
        ((2, 3, 5, 1), (2, 1, 1, 2), {"padding": None}, "Received: padding=None"),
    ],
)
def test_bad_arguments(images, grid, choices, message):
    with pytest.raises(ValueError, match=message):
        sample(np.zeros(images, "float32"), np.zeros(grid, "float32"), **choices)


def test_images_of_integers_are_refused():
    with pytest.raises(ValueError, match=r"Expected images of floats.*Received: dtype=uint8"):
        sample(np.zeros((2, 3, 5, 1), "uint8"), ops.zeros((2, 1, 1, 2)))


@pytest.mark.parametrize("jit", [False, True])
def test_many_channels_are_read_as_few_at_a_time(jit):
    images, upstream = normal(2, 5, 7, 11), normal(2, 3, 13, 11)
    grid = RANDOM.uniform(-1.5, 1.5, (2, 3, 13, 2)).astype("float32")
    values, to_images, to_grid = with_gradients(images, grid, upstream, jit)
    parts = [
        with_gradients(images[..., part], grid, upstream[..., part], jit)
        for part in (slice(0, 5), slice(5, 11))
    ]
    for place, whole in enumerate((values, to_images)):
        joined = np.concatenate([part[place] for part in parts], axis=-1)
        np.testing.assert_allclose(whole, joined, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(to_grid, parts[0][2] + parts[1][2], rtol=1e-4, atol=1e-4)


@every_padding
@both
def test_of_two_nearest_pixels_the_even_one_is_read(padding, align_corners):
    images = np.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    half = 1.5 if align_corners else 2.0
    places = np.stack(np.meshgrid([0.5, 1.5, 2.5], [0.5, 2.5]), axis=-1)
    grid = ((places - 1.5) / half)[None].astype("float32")
    values = sample(images, grid, "nearest", padding, align_corners)
    np.testing.assert_array_equal(values[0, ..., 0], [[0, 2, 2], [8, 10, 10]])


def test_in_a_functional_model_that_is_saved(tmp_path):
    images, theta = keras.Input((5, 7, 3)), keras.Input((2, 3))
    choices = {"interpolation": "nearest", "padding": "border", "align_corners": True}
    read = sample(images, affine_grid(theta, target_points(2, 13)), **choices)
    assert read.shape == (None, 2, 13, 3)
    model = keras.Model([images, theta], read)
    inputs = [normal(11, 5, 7, 3), normal(11, 2, 3)]
    expected = sample(inputs[0], affine_grid(inputs[1], target_points(2, 13)), **choices)
    np.testing.assert_array_equal(model(inputs), expected)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs), expected)
    with pytest.raises(ValueError, match=r"Expected a grid.*Received: shape=\(None, 2, 3\)"):
        sample(images, theta)
