"""Encoded pictures to pixels: the same operations in training, serving and pictures to look at."""

from keras_attn.images.picture_format import FITS, PictureFormat
from keras_attn.images.resizing import INTERPOLATIONS

__all__ = ["FITS", "INTERPOLATIONS", "PictureFormat"]
