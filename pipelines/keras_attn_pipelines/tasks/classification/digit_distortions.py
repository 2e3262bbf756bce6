"""Random distortions of digits, computed in the graph.

Each takes pictures float32 (B, 28, 28, 1) in 0..1 and a seed, int (2,), and returns pictures of
`size` × `size` pixels, which depend on these two alone. Lengths are pixels of the digits' pictures.

Source: Jaderberg et al. 2015, arXiv:1506.02025, 4.1 and A.3; docstrings say which ranges are not
in the paper.
"""

import math
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from keras_attn.ops.sample import sample
from keras_attn.ops.sampling_grids import affine_grid, projective_grid, target_points
from keras_attn.ops.sampling_grids import thin_plate_spline_grid as spline_grid

DIGIT = 28


def checked(digits):
    """Pictures of digits as a tensor.

    Raises:
        ValueError: wrong shape.
    """
    digits = tf.convert_to_tensor(digits)
    if digits.shape.rank != 4 or digits.shape[1:] != (DIGIT, DIGIT, 1):
        raise ValueError(
            f"Expected digits (B, {DIGIT}, {DIGIT}, 1). Received: shape={digits.shape}"
        )
    return digits


def uniform(seed, place, shape, low, high):
    """Uniform random numbers; `place` distinguishes the draws from one seed."""
    return tf.random.stateless_uniform(shape, tf.random.fold_in(seed, place), low, high)


def normal(seed, place, shape, deviation):
    """Normal random numbers with mean 0."""
    return deviation * tf.random.stateless_normal(shape, tf.random.fold_in(seed, place))


@dataclass(frozen=True)
class Turned:
    """Random rotation, scale and translation within the picture (R and RTS of the paper).

    Args:
        size: int ≥ 28. Of the pictures made.
        degrees: float ≥ 0. Largest rotation in either direction.
        scales: (least, greatest), the greatest at most size / 28 for a digit to fit.
    """

    size: int = 28
    degrees: float = 90.0
    scales: tuple[float, float] = (1.0, 1.0)

    def __call__(self, digits, seed):
        digits = checked(digits)
        count = tf.shape(digits)[0]
        angle = uniform(seed, 0, (count,), -1.0, 1.0) * math.radians(self.degrees)
        scale = uniform(seed, 1, (count,), *self.scales)
        room = tf.maximum(self.size - DIGIT * scale, 0.0) / 2
        center = uniform(seed, 2, (count, 2), -1.0, 1.0) * room[:, None]
        cosine, sine = tf.cos(angle) / scale, tf.sin(angle) / scale
        turn = tf.reshape(tf.stack([cosine, sine, -sine, cosine], axis=1), (-1, 2, 2))
        moved = -tf.linalg.matvec(turn, center)[..., None]
        theta = tf.concat([turn * (self.size / DIGIT), moved * (2 / DIGIT)], axis=2)
        return sample(digits, affine_grid(theta, target_points(self.size, self.size)))


@dataclass(frozen=True)
class Projected:
    """Random scale and displacement of the four corners (P of the paper).

    Args:
        size: int ≥ 28.
        deviation: float ≥ 0. Of the corners, in pixels. The paper has 5, which folds many digits
            beyond recognition.
        scales: (least, greatest).
    """

    size: int = 42
    deviation: float = 3.0
    scales: tuple[float, float] = (0.75, 1.0)

    def __call__(self, digits, seed):
        digits = checked(digits)
        count = tf.shape(digits)[0]
        corners = tf.constant([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        scale = uniform(seed, 0, (count, 1, 1), *self.scales)
        placed = corners * scale * (DIGIT / self.size)
        placed += normal(seed, 1, (count, 4, 2), 2 * self.deviation / self.size)
        theta = homography(placed, corners[None] + tf.zeros_like(placed))
        return sample(digits, projective_grid(theta, target_points(self.size, self.size)))


def homography(points, images):
    """θ of the projective maps of four points each to their images.

    Args:
        points: float32 (B, 4, 2).
        images: float32 (B, 4, 2).

    Returns:
        float32 (B, 8), as `projective_grid` takes it; NaN or infinite where three points or
        images are collinear, since there is no such map.
    """
    x, y = points[..., 0], points[..., 1]
    one, none = tf.ones_like(x), tf.zeros_like(x)
    rows = []
    for axis, left in ((0, [x, y, one, none, none, none]), (1, [none, none, none, x, y, one])):
        image = images[..., axis]
        rows.append(tf.stack([*left, -x * image, -y * image], axis=-1))
    system = tf.concat(rows, axis=1)
    wanted = tf.concat([images[..., 0], images[..., 1]], axis=1)[..., None]
    return tf.linalg.lstsq(system, wanted)[..., 0]


@dataclass(frozen=True)
class Bent:
    """Random thin-plate spline over 4 × 4 control points (E of the paper).

    Args:
        size: int ≥ 28.
        deviation: float ≥ 0. Of the points, in pixels.
    """

    size: int = 28
    deviation: float = 1.5

    def __call__(self, digits, seed):
        digits = checked(digits)
        control = target_points(4, 4, align_corners=True).reshape(-1, 2)
        moved = normal(seed, 0, (tf.shape(digits)[0], 16, 2), 2 * self.deviation / DIGIT)
        points = target_points(self.size, self.size) * np.float32(self.size / DIGIT)
        return sample(digits, spline_grid(control + moved, control, points))


@dataclass(frozen=True)
class Cluttered:
    """Random translation, with pieces of other digits of the batch as clutter (cluttered
    translation).

    Args:
        size: int ≥ 28.
        pieces: int ≥ 0.
        side: int, 1 to 28. Of the pieces, in pixels.
    """

    size: int = 60
    pieces: int = 16
    side: int = 6

    def __call__(self, digits, seed):
        digits = checked(digits)
        count, shape = tf.shape(digits)[0], (tf.shape(digits)[0], self.pieces)
        which = whole(seed, 0, shape, count)
        cut = whole(seed, 1, (*shape, 2), DIGIT - self.side + 1)
        put = whole(seed, 2, (*shape, 2), self.size - self.side + 1)
        inside = tf.stack(tf.meshgrid(*2 * [tf.range(self.side)], indexing="ij"), axis=-1)
        read = cut[:, :, None, None] + inside
        pieces = tf.gather_nd(digits, tf.concat([spread(which, read), read], axis=-1))[..., 0]
        written = put[:, :, None, None] + inside
        rows = spread(tf.broadcast_to(tf.range(count)[:, None], shape), written)
        place = tf.concat([rows, written], axis=-1)
        canvas = tf.scatter_nd(place, pieces, (count, self.size, self.size))[..., None]
        first = whole(seed, 3, (count, 2), self.size - DIGIT + 1)
        corner = tf.stack(tf.meshgrid(*2 * [tf.range(DIGIT)], indexing="ij"), axis=-1)
        own = first[:, None, None] + corner
        rows = tf.broadcast_to(tf.range(count)[:, None, None, None], (count, DIGIT, DIGIT, 1))
        placed = tf.scatter_nd(
            tf.concat([rows, own], axis=-1), digits[..., 0], (count, self.size, self.size)
        )[..., None]
        return tf.minimum(canvas + placed, 1.0)


def whole(seed, place, shape, count):
    """Random integers from 0 to count − 1, int32."""
    seed = tf.random.fold_in(seed, place)
    return tf.random.stateless_uniform(shape, seed, 0, count, tf.int32)


def spread(numbers, places):
    """int32 (B, N) for each of places (B, N, side, side, 2): (B, N, side, side, 1)."""
    return tf.broadcast_to(numbers[:, :, None, None, None], (*tf.unstack(tf.shape(places))[:4], 1))
