"""Sampling grids of spatial transformers: an input point for every output point.

Points are (x, y), x to the right and y down, as parts of the picture: its outer edges lie at −1 and
1, or, with `align_corners`, the centers of its outermost pixels do. A grid is float32
(B, height, width, 2), and every computation is in float32, whatever comes in.

θ is checked as early as possible: its shape always, its values only eagerly. In a graph, `sample`
treats a NaN point as outside the picture.
"""

import numpy as np
from keras import ops

from keras_attn.ops.known_values import known_values

LEAST_DEPTH = 1e-6
LEAST_SQUARE = 1e-30
SINGULAR = 1e-6


def target_points(height, width, align_corners=False):
    """The points of an output's pixels, row by row: NumPy float32 (height, width, 2).

    Args:
        height: int > 0.
        width: int > 0.
        align_corners: bool. Whether −1 and 1 are the centers of the outermost pixels, instead of
            their outer edges. One pixel lies at 0.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> target_points(1, 2).tolist()
        [[[-0.5, 0.0], [0.5, 0.0]]]
    """
    if not all(isinstance(size, int) and size > 0 for size in (height, width)):
        raise ValueError(f"Expected an output of (height, width) > 0. Received: {(height, width)}")
    columns, rows = (_along(size, align_corners) for size in (width, height))
    return np.stack(np.meshgrid(columns, rows), axis=-1).astype("float32")


def _along(count, align_corners):
    if align_corners:
        return np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
    return (2 * np.arange(count) + 1) / count - 1


def affine_grid(theta, points):
    """Reads at θ [x, y, 1]ᵀ.

    Args:
        theta: float (B, 2, 3).
        points: float (height, width, 2), such as `target_points`.

    Returns:
        float32 (B, height, width, 2).

    Raises:
        ValueError: another shape of θ; a number that is not finite.

    Example:
        >>> grid = affine_grid([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]], target_points(1, 2))
        >>> ops.convert_to_numpy(grid).tolist()
        [[[[0.0, 0.0], [1.0, 0.0]]]]

    Source: Jaderberg et al. 2015, arXiv:1506.02025, (1).
    """
    theta, points = _checked(theta, (2, 3)), _points(points)
    flat = ops.reshape(points, (-1, 2))
    homogeneous = ops.concatenate([flat, ops.ones_like(flat[:, :1])], axis=1)
    # One product of two matrices, not one for each example.
    read = ops.matmul(ops.reshape(theta, (-1, 3)), ops.transpose(homogeneous))
    read = ops.reshape(read, (-1, 2, read.shape[-1]))
    return ops.reshape(ops.swapaxes(read, 1, 2), (-1, *points.shape))


def translation_grid(theta, points):
    """Reads at [x + t_x, y + t_y].

    Args:
        theta: float (B, 2). t_x and t_y.
        points: as in `affine_grid`.

    Returns and raises as `affine_grid`.
    """
    return _points(points) + _checked(theta, (2,))[:, None, None, :]


def attention_grid(theta, points):
    """Reads at [s x + t_x, s y + t_y]: an axis-aligned window of the picture, with its aspect
    ratio.

    Args:
        theta: float (B, 3). s, t_x and t_y.
        points: as in `affine_grid`.

    Returns and raises as `affine_grid`.

    Source: Jaderberg et al. 2015, arXiv:1506.02025, (2).
    """
    theta = _checked(theta, (3,))[:, None, None, :]
    return _points(points) * theta[..., :1] + theta[..., 1:]


def similarity_grid(theta, points):
    """Reads at s R(α) [x, y]ᵀ + t: scaled, turned clockwise on the screen by α, and moved.

    Args:
        theta: float (B, 4). s, α in radians, t_x and t_y.
        points: as in `affine_grid`.

    Returns and raises as `affine_grid`.
    """
    scale, angle, right, down = ops.unstack(_checked(theta, (4,)), axis=1)
    cosine, sine = scale * ops.cos(angle), scale * ops.sin(angle)
    rows = ops.stack([cosine, -sine, right, sine, cosine, down], axis=1)
    return affine_grid(ops.reshape(rows, (-1, 2, 3)), points)


def projective_grid(theta, points):
    """Reads at [x', y'] / w', with [x', y', w']ᵀ = H [x, y, 1]ᵀ and H's last number 1.

    Where |w'| < 10⁻⁶, at the horizon, w' is replaced by ±10⁻⁶.

    Args:
        theta: float (B, 8). H row by row, without the last number.
        points: as in `affine_grid`.

    Returns:
        As `affine_grid`.

    Raises:
        ValueError: as `affine_grid`; an H that has no inverse (|det H| < 10⁻⁶).
    """
    theta, points = _checked(theta, (8,)), _points(points)
    _check_inverse(theta)
    flat = ops.reshape(points, (-1, 2))
    read = affine_grid(ops.reshape(theta[:, :6], (-1, 2, 3)), points)
    depth = ops.matmul(theta[:, 6:], ops.transpose(flat)) + 1.0
    near = ops.where(depth < 0, -LEAST_DEPTH, LEAST_DEPTH)
    depth = ops.where(ops.abs(depth) < LEAST_DEPTH, near, depth)
    return read / ops.reshape(depth, (-1, *points.shape[:2], 1))


def _check_inverse(theta):
    values = known_values(theta)
    if values is None:
        return
    matrices = np.concatenate([values, np.ones_like(values[:, :1])], axis=1).reshape(-1, 3, 3)
    determinants = np.linalg.det(matrices.astype("float64"))
    for row in np.flatnonzero(np.abs(determinants) < SINGULAR):
        raise ValueError(
            f"Expected projective matrices with an inverse. Received: theta[{row}] with "
            f"determinant {determinants[row]:.2g}"
        )


def thin_plate_spline_grid(theta, control, points):
    """Reads at the thin-plate spline that maps every control point c_k to θ_k.

        T(p) = a_0 + a_1 x + a_2 y + Σ_k w_k U(|p − c_k|),  U(r) = r² log r²

    with Σ w_k = 0 and Σ w_k c_k = 0. Points that are NumPy arrays make the map from θ to the grid
    one product with a constant matrix.

    Args:
        theta: float (B, K, 2). Sampling point of each control point.
        control: NumPy float (K, 2). Points of the output, in its parts as all points are.
        points: as in `affine_grid`.

    Returns:
        As `affine_grid`. Values and gradients are finite where a point is a control point.

    Raises:
        ValueError: as `affine_grid`; collinear or duplicate control points.

    Source: Bookstein 1989, doi:10.1109/34.24792; Jaderberg et al. 2015, arXiv:1506.02025, 3.2.
    """
    control = np.asarray(control, "float64")
    solution = spline_solution(control)
    theta = _checked(theta, (len(control), 2))
    shape = tuple(_points(points).shape)
    if isinstance(points, np.ndarray):
        basis = _spline_basis(np, points.reshape(-1, 2).astype("float64"), control)
        matrix = ops.convert_to_tensor((basis @ solution).astype("float32"))
    else:
        flat = ops.reshape(_points(points), (-1, 2))
        basis = _spline_basis(ops, flat, control.astype("float32"))
        matrix = ops.matmul(basis, ops.convert_to_tensor(solution.astype("float32")))
    return ops.reshape(ops.matmul(matrix, theta), (-1, *shape))


def spline_solution(control):
    """Weights and affine part of the spline, as a matrix on θ: NumPy float64 (K + 3, K).

    Raises:
        ValueError: as `thin_plate_spline_grid`.
    """
    count = len(control)
    if control.ndim != 2 or control.shape[1] != 2 or not np.isfinite(control).all():
        raise ValueError(
            f"Expected finite control points (K, 2). Received: control={control.tolist()}"
        )
    system = np.zeros((count + 3, count + 3))
    basis = _spline_basis(np, control, control)
    system[:count], system[count:, :count] = basis, basis[:, count:].T
    if np.linalg.matrix_rank(system) < count + 3:
        raise ValueError(
            "Expected distinct control points that are not collinear. "
            f"Received: control={control.tolist()}"
        )
    return np.linalg.inv(system)[:, :count]


def _spline_basis(numbers, points, control):
    """[U(|p − c_1|), …, U(|p − c_K|), 1, x, y] of points (N, 2): (N, K + 3), by `np` or `ops`."""
    squares = numbers.sum(
        numbers.square(numbers.subtract(points[:, None, :], control[None])), axis=-1
    )
    bent = squares * numbers.log(numbers.maximum(squares, LEAST_SQUARE))
    return numbers.concatenate([bent, numbers.ones_like(points[:, :1]), points], axis=1)


def _points(points):
    """Points as float32 (height, width, 2).

    Raises:
        ValueError: another shape.
    """
    points = ops.convert_to_tensor(points)
    if len(points.shape) != 3 or points.shape[-1] != 2:
        raise ValueError(
            f"Expected points (height, width, 2). Received: shape={tuple(points.shape)}"
        )
    return ops.cast(points, "float32")


def _checked(theta, shape):
    """θ as float32 (B, *shape).

    Raises:
        ValueError: another shape, or, where numbers are known, one that is not finite.
    """
    theta = ops.convert_to_tensor(theta)
    if tuple(theta.shape[1:]) != shape or len(theta.shape) != len(shape) + 1:
        wanted = ", ".join(map(str, shape))
        raise ValueError(
            f"Expected theta of shape (B, {wanted}). Received: shape={tuple(theta.shape)}"
        )
    theta = ops.cast(theta, "float32")
    values = known_values(theta)
    if values is not None and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise ValueError(f"Expected finite theta. Received: theta[{row}]={values[row].tolist()}")
    return theta
