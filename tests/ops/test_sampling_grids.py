from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.ops.sampling_grids import (
    affine_grid,
    attention_grid,
    projective_grid,
    similarity_grid,
    target_points,
    thin_plate_spline_grid,
    translation_grid,
)

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "sampling.npz")
RANDOM = np.random.default_rng(13)
POINTS = target_points(5, 7)
LATTICE = target_points(2, 3, align_corners=True).reshape(-1, 2)
FUNCTIONS = {
    translation_grid: (2,),
    attention_grid: (3,),
    similarity_grid: (4,),
    affine_grid: (2, 3),
    projective_grid: (8,),
}
every_function = pytest.mark.parametrize("function", FUNCTIONS)


def normal(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def spline(theta, points):
    return thin_plate_spline_grid(theta, LATTICE, points)


def matrices(function, theta):
    """What each does, as matrices (3, 3), written down once more."""
    theta = np.asarray(theta, "float64")
    if function is translation_grid:
        return np.array([[[1, 0, x], [0, 1, y], [0, 0, 1]] for x, y in theta])
    if function is attention_grid:
        return np.array([[[s, 0, x], [0, s, y], [0, 0, 1]] for s, x, y in theta])
    if function is similarity_grid:
        turned = [(s * np.exp(1j * angle), x, y) for s, angle, x, y in theta]
        return np.array(
            [[[c.real, -c.imag, x], [c.imag, c.real, y], [0, 0, 1]] for c, x, y in turned]
        )
    last = np.concatenate([np.zeros((len(theta), 2)), np.ones((len(theta), 1))], axis=1)
    if function is affine_grid:
        return np.concatenate([theta, last[:, None]], axis=1)
    return np.concatenate([theta, last[:, 2:]], axis=1).reshape(-1, 3, 3)


@pytest.mark.parametrize("align_corners", [False, True])
def test_affine_grids_and_gradients_are_torchs(align_corners):
    theta = tf.constant(GOLDEN["theta"])
    with tf.GradientTape() as tape:
        tape.watch(theta)
        grid = affine_grid(theta, target_points(11, 13, align_corners))
    np.testing.assert_allclose(grid, GOLDEN[f"affine {align_corners} grid"], rtol=1e-5, atol=1e-6)
    gradient = tape.gradient(grid, theta, tf.constant(GOLDEN["grid"]))
    expected = GOLDEN[f"affine {align_corners} to_theta"]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


@every_function
def test_each_grid_is_its_formulas(function):
    theta = normal(3, *FUNCTIONS[function]) * 0.3
    outputs = ops.convert_to_numpy(function(theta, POINTS))
    for example, matrix in enumerate(matrices(function, theta)):
        for row, column in np.ndindex(5, 7):
            x, y, depth = matrix @ [*POINTS[row, column], 1]
            np.testing.assert_allclose(
                outputs[example, row, column], (x / depth, y / depth), rtol=1e-4, atol=1e-5
            )


def test_points_at_both_conventions():
    np.testing.assert_allclose(target_points(2, 4)[0, :, 0], [-0.75, -0.25, 0.25, 0.75])
    np.testing.assert_allclose(target_points(2, 4)[:, 0, 1], [-0.5, 0.5])
    np.testing.assert_allclose(target_points(2, 5, True)[1, :, 0], [-1, -0.5, 0, 0.5, 1])
    assert target_points(1, 1, True).tolist() == [[[0.0, 0.0]]]
    for size in ((0, 3), (3, -1), (2.0, 3)):
        with pytest.raises(ValueError, match="Received: "):
            target_points(*size)


def slow_spline(theta, control, point):
    """One point by the system of equations as the paper has it."""

    def bent(value, other):
        square = np.sum((value - other) ** 2)
        return 0 if square == 0 else square * np.log(square)

    count = len(control)
    system = np.zeros((count + 3, count + 3))
    for row in range(count):
        for column in range(count):
            system[row, column] = bent(control[row], control[column])
        system[row, count:] = system[count:, row] = (1, *control[row])
    solution = np.linalg.solve(system, np.concatenate([theta, np.zeros((3, 2))]))
    basis = [*(bent(point, value) for value in control), 1, *point]
    return np.array(basis) @ solution


@pytest.mark.parametrize("learned", [False, True])
def test_the_spline_is_the_solution_of_its_equations(learned):
    theta = LATTICE[None] + 0.3 * normal(3, 6, 2)
    points = ops.convert_to_tensor(POINTS) if learned else POINTS
    actual = ops.convert_to_numpy(thin_plate_spline_grid(theta, LATTICE, points))
    for example in range(3):
        for row, column in np.ndindex(5, 7):
            expected = slow_spline(theta[example], LATTICE.astype("float64"), POINTS[row, column])
            np.testing.assert_allclose(actual[example, row, column], expected, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_spline_goes_through_its_points_with_finite_gradients(dtype):
    theta = tf.cast(LATTICE[None] + 0.3 * normal(2, 6, 2), dtype)
    points = tf.cast(LATTICE.reshape(2, 3, 2), dtype)
    with tf.GradientTape() as tape:
        tape.watch((theta, points))
        grid = thin_plate_spline_grid(theta, LATTICE, points)
    assert grid.dtype == "float32"
    expected = tf.reshape(tf.cast(theta, "float32"), (2, 2, 3, 2))
    np.testing.assert_allclose(grid, expected, atol=1e-5)
    for gradient in tape.gradient(grid, (theta, points), tf.constant(normal(2, 2, 3, 2))):
        assert np.isfinite(tf.cast(gradient, "float32")).all()
        assert np.abs(tf.cast(gradient, "float32")).max() > 0


def test_the_splines_gradient_to_the_points_is_that_of_finite_differences():
    theta = LATTICE[None] + 0.3 * normal(1, 6, 2)
    points, upstream = 0.8 * normal(1, 3, 2), normal(1, 1, 3, 2)
    watched = tf.constant(points)
    with tf.GradientTape() as tape:
        tape.watch(watched)
        grid = thin_plate_spline_grid(theta, LATTICE, watched)
    gradient = tape.gradient(grid, watched, tf.constant(upstream))
    for place in np.ndindex(points.shape):
        step = np.zeros_like(points)
        step[place] = 1e-2
        above, below = (
            float(np.sum(upstream * thin_plate_spline_grid(theta, LATTICE, points + sign * step)))
            for sign in (1, -1)
        )
        np.testing.assert_allclose(gradient[place], (above - below) / 2e-2, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("function", [*FUNCTIONS, spline])
def test_wrong_parameters_are_refused(function):
    shape = FUNCTIONS.get(function, (6, 2))
    wanted = r"\(B, " + ", ".join(map(str, shape)) + r"\)"
    with pytest.raises(ValueError, match=rf"Expected theta of shape {wanted}\. Received: shape="):
        function(np.zeros((3, 5), "float32"), POINTS)
    theta = np.ones((3, *shape), "float32")
    theta[1].flat[0] = np.nan
    with pytest.raises(ValueError, match=r"Expected finite theta\. Received: theta\[1\]="):
        function(theta, POINTS)
    graph = tf.function(lambda value: function(value, POINTS), autograph=False)
    assert np.isnan(graph(tf.constant(theta))[1]).any()


def test_what_has_no_inverse_or_no_depth():
    singular = np.array([[1, 0, 0, 0, 1, 0, 0, 0], [1, 2, 0, 2, 4, 0, 0, 0]], "float32")
    with pytest.raises(ValueError, match=r"with an inverse\. Received: theta\[1\] with determ"):
        projective_grid(singular, POINTS)
    horizon = np.array([[1, 0, 0, 0, 1, 0, 1, 0]], "float32")  # Depth 0 where x = −1.
    theta = tf.constant(horizon)
    with tf.GradientTape() as tape:
        tape.watch(theta)
        grid = projective_grid(theta, target_points(3, 5, align_corners=True))
    assert np.isfinite(grid).all() and np.isfinite(tape.gradient(grid, theta)).all()
    assert float(grid[0, 0, 0, 0]) == pytest.approx(-1e6)


@pytest.mark.parametrize("control", [[[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 0], [0, 1], [0, 1]]])
def test_a_spline_needs_points_in_general_position(control):
    control = np.array(control, "float32")
    with pytest.raises(ValueError, match="distinct control points that are not collinear"):
        thin_plate_spline_grid(control[None], control, POINTS)


@pytest.mark.parametrize("function", [*FUNCTIONS, spline])
def test_wrong_points_are_refused(function):
    theta = np.ones((3, *FUNCTIONS.get(function, (6, 2))), "float32")
    for points in (POINTS[..., :1], POINTS[0], np.ones((2, 3, 3), "float32")):
        with pytest.raises(ValueError, match=r"Expected points \(height, width, 2\)"):
            function(theta, points)
