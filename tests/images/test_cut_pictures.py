"""JPEGs cut short: what is read of them is true, and no other cut is read."""

import numpy as np
from PIL import Image

from keras_attn.images.formats.reasons import DAMAGED
from keras_attn.images.picture_format import PictureFormat, read_picture
from tests.images.encoded_pictures import encoded, tiff, with_exif

HEIGHT, WIDTH, NEEDED = 83, 29, 75
NOISE = Image.fromarray(np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH, 3), "uint8"))
FORMAT = PictureFormat(HEIGHT, WIDTH)
CUT = {
    "4:2:0": encoded(NOISE, "JPEG"),
    "4:4:4": encoded(NOISE, "JPEG", subsampling=0),
    "restarts": encoded(NOISE, "JPEG", subsampling=0, restart_marker_blocks=3),
    "gray": encoded(NOISE.convert("L"), "JPEG"),
}
REFUSED = [
    encoded(NOISE, "JPEG", progressive=True),
    encoded(NOISE.convert("CMYK"), "JPEG"),
]
LOST = (1, 2, 3, 11, 60, 100, 900, 1500)
"""Bytes that are missing at the end; the last two take more than a tenth of the rows."""


def test_rows_that_are_there_are_true():
    """Where colors are halved, those of the last such row are mixed with gray."""
    wholes = FORMAT.decode_batch([*CUT.values()])[0].numpy()
    cut = [[data[: len(data) - lost] for lost in LOST] for data in CUT.values()]
    decoded = FORMAT.decode_with_missing_rows([item for kind in cut for item in kind])
    parts = (part.numpy().reshape(len(CUT), len(LOST), *part.shape[1:]) for part in decoded)
    for whole, given, pictures, readable, reasons, missing in zip(wholes, cut, *parts):
        assert readable.tolist() == sorted(readable, reverse=True) and readable.sum() == 6
        assert not missing[~readable].any() and missing[:2].tolist() == [1, 1]
        assert {reason.decode() for reason in reasons[~readable]} == {DAMAGED}
        for data, picture, rows in zip(given, pictures[readable], missing):
            np.testing.assert_array_equal(picture[: NEEDED - 1], whole[: NEEDED - 1])
            assert rows == 1 or (rows == 3 and (picture[-1, -1] == 128).all())
            np.testing.assert_array_equal(FORMAT.decode(data), picture)


def test_of_other_kinds_not_even_the_end_may_be_missing():
    cut = [data[:-lost] for data in REFUSED for lost in (2, 11)]
    _, readable, reasons = FORMAT.decode_batch(cut)
    assert not readable.numpy().any() and set(reasons.numpy()) == {DAMAGED.encode()}


def test_what_follows_the_end_is_not_read():
    data = CUT["4:2:0"]
    pictures, _, _, missing = FORMAT.decode_with_missing_rows([data, data + b"\n", data * 2])
    assert not missing.numpy().any() and len(np.unique(pictures, axis=0)) == 1


def test_a_cut_picture_is_turned_upright():
    data = with_exif(CUT["4:2:0"], tiff(6))[:-3]
    picture = read_picture(data)
    assert picture.shape == (WIDTH, HEIGHT, 3)
    np.testing.assert_array_equal(picture, np.rot90(read_picture(CUT["4:2:0"][:-3]), -1))
