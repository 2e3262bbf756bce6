"""Encoded pictures to pixels: the same operations in training, serving and pictures to look at."""

from keras_attn.images.picture_format import FITS, PictureFormat

__all__ = ["FITS", "PictureFormat"]
