"""The families of transforms of a `SpatialTransformer`.

Each has `parameters`, the width of θ; `identity()`, θ of the identity map, NumPy float32;
`rotation(angle)`, θ of a rotation, in families that have rotations; and `grid(theta, points)`, from
θ (B, parameters) to a grid as in `keras_attn.ops.sampling_grids`, where the formulas are.
"""

from dataclasses import asdict, dataclass

import keras
import numpy as np
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.config_fields import ConfigFields
from keras_attn.ops.sampling_grids import (
    affine_grid,
    attention_grid,
    projective_grid,
    similarity_grid,
    target_points,
    thin_plate_spline_grid,
    translation_grid,
)


@dataclass(frozen=True)
class Transform(ConfigFields):
    """Abstract: a family of maps."""

    @property
    def parameters(self):
        """Width of θ."""
        return len(self.identity())

    def identity(self):
        """θ of the identity, NumPy float32 (parameters,)."""
        raise NotImplementedError

    def rotation(self, angle):
        """θ of a rotation about the center, NumPy float32 (parameters,).

        Args:
            angle: float, radians; reads at R(angle) [x, y]ᵀ, as in `similarity_grid`: the window
                turns clockwise, what is read counterclockwise. Coordinates are those of the grid,
                so a picture that is not square is sheared as well.

        Raises:
            ValueError: the family has no rotations.
        """
        raise NotImplementedError

    def grid(self, theta, points):
        """float32 (B, height, width, 2) from θ (B, parameters) and points (height, width, 2)."""
        raise NotImplementedError

    def _split(self, theta, rows, columns):
        """θ (B, parameters) as (B, rows, columns)."""
        shape = tuple(theta.shape)
        if len(shape) != 2 or shape[1] != rows * columns:
            raise ValueError(
                f"Expected theta of shape (B, {rows * columns}). Received: shape={shape}"
            )
        return ops.reshape(theta, (-1, rows, columns))


class Unturned(Transform):
    """Abstract: a family without rotations."""

    def rotation(self, angle):
        raise ValueError(
            f"Expected a transform with rotations, such as Affine(). Received: {self!r}"
        )


def _numbers(*values):
    return np.array(values, "float32")


def _matrix(angle):
    """R(angle), NumPy (2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@keras.saving.register_keras_serializable(package="keras_attn")
class Translation(Unturned):
    """θ = (t_x, t_y): moved, as `translation_grid`."""

    def identity(self):
        return _numbers(0, 0)

    def grid(self, theta, points):
        return translation_grid(theta, points)


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionWindow(Unturned):
    """θ = (s, t_x, t_y): an axis-aligned window, as `attention_grid`."""

    def identity(self):
        return _numbers(1, 0, 0)

    def grid(self, theta, points):
        return attention_grid(theta, points)


@keras.saving.register_keras_serializable(package="keras_attn")
class Similarity(Transform):
    """θ = (s, α, t_x, t_y): scaled, turned and moved, as `similarity_grid`."""

    def identity(self):
        return _numbers(1, 0, 0, 0)

    def rotation(self, angle):
        return _numbers(1, angle, 0, 0)

    def grid(self, theta, points):
        return similarity_grid(theta, points)


@keras.saving.register_keras_serializable(package="keras_attn")
class Affine(Transform):
    """θ is a matrix (2, 3) row by row, as `affine_grid`."""

    def identity(self):
        return _numbers(1, 0, 0, 0, 1, 0)

    def rotation(self, angle):
        (a, b), (c, d) = _matrix(angle)
        return _numbers(a, b, 0, c, d, 0)

    def grid(self, theta, points):
        return affine_grid(self._split(theta, 2, 3), points)


@keras.saving.register_keras_serializable(package="keras_attn")
class Projective(Transform):
    """θ is a matrix (3, 3) row by row without its last number, 1, as `projective_grid`."""

    def identity(self):
        return _numbers(1, 0, 0, 0, 1, 0, 0, 0)

    def rotation(self, angle):
        (a, b), (c, d) = _matrix(angle)
        return _numbers(a, b, 0, c, d, 0, 0, 0)

    def grid(self, theta, points):
        return projective_grid(theta, points)


@keras.saving.register_keras_serializable(package="keras_attn")
@dataclass(frozen=True)
class ThinPlateSpline(Transform):
    """θ has the sampling point (x, y) of each control point of a lattice over the output.

    The lattice's outermost points are on the output's edges; `thin_plate_spline_grid` interpolates
    between control points with minimal bending.

    Args:
        rows: int ≥ 2.
        columns: int ≥ 2.

    Raises:
        ValueError: fewer than 2 rows or columns.
    """

    rows: int = 4
    columns: int = 4

    def __post_init__(self):
        check_sizes(least=2, **asdict(self))

    def control(self):
        """The lattice, NumPy float32 (rows · columns, 2), row by row."""
        return target_points(self.rows, self.columns, align_corners=True).reshape(-1, 2)

    def identity(self):
        return self.control().reshape(-1)

    def rotation(self, angle):
        return _numbers(*(self.control() @ _matrix(angle).T).ravel())

    def grid(self, theta, points):
        theta = self._split(theta, self.rows * self.columns, 2)
        return thin_plate_spline_grid(theta, self.control(), points)
