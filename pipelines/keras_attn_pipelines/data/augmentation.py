"""Random augmentation of pictures, a function of seed and step alone."""

import math
from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Augmentation:
    """Random horizontal flips, crops, shifts, rotations and colors.

    Attributes:
        flip: bool. Whether to flip half of the pictures horizontally.
        crop: float, 0 < crop ≤ 1. Smallest fraction of height and width that a crop keeps; crops
            have the picture's aspect ratio and are resized to its size. 1: no cropping.
        seed: int.
        shift: float, 0 ≤ shift < 1. Largest shift, as a fraction of height and width. What comes
            in from outside repeats the edge.
        turn: float, 0 to 180. Largest rotation about the center, in degrees.
        color: float, 0 ≤ color < 1. Brightness, then contrast, then saturation are multiplied by
            random factors of 1 − color to 1 + color.
    """

    flip: bool
    crop: float
    seed: int
    shift: float = 0.0
    turn: float = 0.0
    color: float = 0.0

    def __call__(self, pictures, step):
        """Augments uint8 (B, height, width, 3) of a step, an int64 scalar."""
        seed = tf.stack([tf.constant(self.seed, tf.int64), step])
        count, (height, width) = tf.shape(pictures)[0], pictures.shape[1:3]
        if self.flip:
            random = tf.random.stateless_uniform((count, 1, 1, 1), seed)
            pictures = tf.where(random < 0.5, pictures[:, :, ::-1], pictures)
        if self.crop < 1:
            random = tf.random.stateless_uniform((count, 3), tf.random.fold_in(seed, 1))
            side = self.crop + (1 - self.crop) * random[:, :1]
            first = random[:, 1:] * (1 - side)
            boxes = tf.concat([first, first + side], axis=1)
            cut = tf.image.crop_and_resize(pictures, boxes, tf.range(count), (height, width))
            pictures = _as_bytes(cut)
        if self.shift or self.turn:
            pictures = self._moved(pictures, tf.random.fold_in(seed, 2))
        if self.color:
            pictures = self._recolored(pictures, tf.random.fold_in(seed, 3))
        return pictures

    def _recolored(self, pictures, seed):
        """Pictures with random changes of brightness, contrast about the mean, and saturation."""
        low, high = 1 - self.color, 1 + self.color
        shape = (tf.shape(pictures)[0], 3, 1, 1, 1)
        brighter, starker, fuller = tf.unstack(
            tf.random.stateless_uniform(shape, seed, low, high), axis=1
        )
        pixels = tf.cast(pictures, tf.float32) * brighter
        mean = tf.reduce_mean(pixels, axis=(1, 2, 3), keepdims=True)
        pixels = mean + (pixels - mean) * starker
        gray = tf.image.rgb_to_grayscale(pixels)
        return _as_bytes(gray + (pixels - gray) * fuller)

    def _moved(self, pictures, seed):
        """Pictures that are turned and shifted at random, with bilinear interpolation."""
        height, width = pictures.shape[1:3]
        random = tf.random.stateless_uniform((tf.shape(pictures)[0], 3), seed, -1, 1)
        angle = random[:, 0] * math.radians(self.turn)
        cos, sin = tf.cos(angle), tf.sin(angle)
        x, y = (width - 1) / 2, (height - 1) / 2
        right, down = (random[:, 1] * self.shift * width, random[:, 2] * self.shift * height)
        none = tf.zeros_like(angle)
        # Where each pixel is read: turned about the center, then shifted.
        rows = [cos, -sin, x - cos * x + sin * y - right, sin, cos, y - sin * x - cos * y - down]
        moved = tf.raw_ops.ImageProjectiveTransformV3(
            images=tf.cast(pictures, tf.float32),
            transforms=tf.stack([*rows, none, none], axis=1),
            output_shape=tf.constant([height, width]),
            fill_value=0.0,
            interpolation="BILINEAR",
            fill_mode="NEAREST",
        )
        return _as_bytes(moved)


def _as_bytes(pictures):
    """float32 pictures, 0 to 255, as uint8."""
    return tf.cast(tf.clip_by_value(tf.round(pictures), 0, 255), tf.uint8)
