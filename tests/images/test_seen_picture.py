"""Pictures decoded without TensorFlow's Python are those that models are given."""

import struct

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.images import picture_format
from keras_attn.saved.seen_picture import read_picture
from tests.images.encoded_pictures import GRAY, JPEG, KINDS, REFUSED, RGB, encoded, tiff, with_exif

TURNED = [
    with_exif(JPEG, tiff(turn, order, kind))
    for turn in range(1, 9)
    for order in "<>"
    for kind in (3, 4)
]
GOOD = tiff(6)
DAMAGED = [
    *(with_exif(JPEG, GOOD[:size]) for size in (0, 4, 9, 30, 39)),
    *(with_exif(JPEG, tiff(turn)) for turn in (0, 9, 65535)),
    *(with_exif(JPEG, GOOD[:4] + struct.pack("<I", far) + GOOD[8:]) for far in (0, 2, 999)),
    with_exif(with_exif(JPEG, tiff(3)), GOOD),
    JPEG[:-2],
    JPEG[:-300],
    JPEG + b"\n",
    b"",
    b"\xff\xd8\xff\xff\xd9",
]
COMMON = [JPEG, KINDS["jpeg progressive"], KINDS["jpeg gray"], KINDS["png"], *TURNED]
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><a tiff:Orientation="6"/></x:xmpmeta>'


def mutated(seed):
    """A picture with a few bytes changed."""
    random = np.random.default_rng(seed)
    data = bytearray(random.choice([JPEG, KINDS["png"], TURNED[20], TURNED[-1]]))
    for place in random.integers(0, len(data), random.integers(1, 4)):
        data[place] = random.integers(256)
    return bytes(data)


def read(reader, data):
    """The pixels, or None where there are none."""
    try:
        return reader(data)
    except tf.errors.InvalidArgumentError:
        return None


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data", "ignore:Truncated File Read")
@pytest.mark.parametrize(
    "pictures",
    [
        [*KINDS.values(), *REFUSED.values()],
        [*TURNED, *DAMAGED, encoded(RGB, "JPEG", xmp=XMP), encoded(GRAY, "JPEG", exif=GOOD)],
        [mutated(seed) for seed in range(150)],
    ],
    ids=["kinds", "EXIF", "mutations"],
)
def test_pixels_are_those_of_the_graph(pictures):
    for data in pictures:
        seen, expected = read(read_picture, data), read(picture_format.read_picture, data)
        assert (seen is None) == (expected is None), data
        if seen is not None:
            assert seen.dtype == np.uint8
            np.testing.assert_array_equal(seen, expected)


def test_common_pictures_do_not_need_tensorflows_python(monkeypatch):
    monkeypatch.setattr(picture_format, "read_picture", None)
    assert {read_picture(data).shape for data in COMMON} == {(11, 13, 3), (13, 11, 3)}
