"""Random augmentation of pictures, a function of seed and step alone."""

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class Augmentation:
    """Random horizontal flips and crops.

    Attributes:
        flip: bool. Whether to flip half of the pictures horizontally.
        crop: float, 0 < crop ≤ 1. Smallest fraction of height and width that a crop keeps; crops
            have the picture's aspect ratio and are resized to its size. 1: no cropping.
        seed: int.
    """

    flip: bool
    crop: float
    seed: int

    def __call__(self, pictures, step):
        """Augments uint8 (B, height, width, 3) of a step, an int64 scalar."""
        seed = tf.stack([tf.constant(self.seed, tf.int64), step])
        count, (height, width) = tf.shape(pictures)[0], pictures.shape[1:3]
        if self.flip:
            drawn = tf.random.stateless_uniform((count, 1, 1, 1), seed)
            pictures = tf.where(drawn < 0.5, pictures[:, :, ::-1], pictures)
        if self.crop < 1:
            drawn = tf.random.stateless_uniform((count, 3), tf.random.fold_in(seed, 1))
            side = self.crop + (1 - self.crop) * drawn[:, :1]
            first = drawn[:, 1:] * (1 - side)
            boxes = tf.concat([first, first + side], axis=1)
            cut = tf.image.crop_and_resize(pictures, boxes, tf.range(count), (height, width))
            pictures = tf.cast(tf.clip_by_value(tf.round(cut), 0, 255), tf.uint8)
        return pictures
