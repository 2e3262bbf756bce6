"""Pictures as people look at them, decoded without TensorFlow's Python where they are common."""

import contextlib
import functools
import io
import re

import numpy as np
from PIL import Image

from keras_attn.images.formats.cut import END
from keras_attn.images.formats.exif import ORIENTATION
from keras_attn.images.formats.plain import EXIF, JPEG_START, PLAIN_PNG
from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.saved.c_session import CSession

PNG = re.compile(PLAIN_PNG.replace(r"\C", ".").encode())


def read_picture(data: bytes) -> np.ndarray:
    """What `keras_attn.images.picture_format.read_picture` returns, bit by bit.

    A JPEG in color or gray that has its end, and a plain PNG, are given to TensorFlow's decoder by
    its C interface.

    Returns:
        uint8 (height, width, 3), RGB, upright.

    Raises:
        InvalidArgumentError: it cannot be decoded.
    """
    # What is damaged, for which Pillow has errors of every kind, is left to TensorFlow's Python.
    with contextlib.suppress(Exception):
        if orientation := _orientation(data):
            (pixels,) = _decoder().run({"data:0": np.array(data, object)}, ["pixels:0"])
            return _upright(pixels, orientation)
    from keras_attn.images import picture_format

    return picture_format.read_picture(data)


def _orientation(data):
    """1 to 8, as EXIF numbers them; 0 for a picture of another kind than those above."""
    if PNG.fullmatch(data):
        return 1
    if not (data.startswith(JPEG_START) and data.endswith(END)):
        return 0
    image, exif = Image.open(io.BytesIO(data)), Image.Exif()
    if image.mode not in ("RGB", "L") or image.width * image.height > MOST_PIXELS:
        return 0
    exif.load(image.info.get("exif", EXIF))
    value = exif.get(ORIENTATION, 1)
    return value if value in range(1, 9) else 1


def _upright(pixels, orientation):
    """A picture turned as its orientation says, as `formats.exif.upright` does."""
    pixels = np.swapaxes(pixels, 0, 1) if orientation >= 5 else pixels
    pixels = pixels[:, ::-1] if orientation in (2, 3, 6, 7) else pixels
    return np.ascontiguousarray(pixels[::-1] if orientation in (3, 4, 7, 8) else pixels)


@functools.cache
def _decoder():
    return CSession.of_decoder()
