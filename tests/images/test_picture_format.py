"""Pictures in the graph beside Pillow: every kind, orientation and damage."""

import io
import struct
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from keras_attn.images.formats.plain import is_plain, looks_plain
from keras_attn.images.formats.reasons import ANIMATED, BMP_KIND, DAMAGED, EMPTY, UNKNOWN
from keras_attn.images.picture_format import PictureFormat
from tests.images.encoded_pictures import (
    CLAIMING,
    JPEG,
    KINDS,
    PALETTE,
    REFUSED,
    RGB,
    bmp,
    claiming,
    encoded,
    tiff,
    with_exif,
)

FORMAT = PictureFormat(11, 13)
PLAIN = ["jpeg", "jpeg progressive", "jpeg gray", "jpeg cmyk", "png"]

decoded = tf.function(FORMAT.decode, [tf.TensorSpec((), tf.string)], autograph=False)


def pillow(data):
    """The first frame, upright, over white."""
    image = Image.open(io.BytesIO(data))
    if image.mode.startswith("I"):
        return np.repeat(np.round(np.asarray(image)[..., None] / 257), 3, axis=2)
    image = ImageOps.exif_transpose(image).convert("RGBA")
    return np.asarray(Image.alpha_composite(Image.new("RGBA", image.size, "white"), image))[..., :3]


@pytest.mark.systems
def test_every_kind():
    pictures, readable, reasons = FORMAT.decode_batch(list(KINDS.values()))
    assert readable.numpy().all() and not any(reasons.numpy())
    for picture, (kind, data) in zip(pictures, KINDS.items()):
        tolerance = 6 if "cmyk" in kind else 2
        np.testing.assert_allclose(picture, pillow(data), atol=tolerance, err_msg=kind)
        np.testing.assert_array_equal(decoded(data), picture, err_msg=kind)


ONE_THREAD = """
import sys
import tensorflow as tf
from keras_attn.images.picture_format import PictureFormat
tf.config.threading.set_inter_op_parallelism_threads(1)
decoded = tf.function(PictureFormat(7, 5).decode, [tf.TensorSpec((), tf.string)], autograph=False)
print(decoded(sys.stdin.buffer.read()).shape)
"""


@pytest.mark.systems
def test_one_thread_for_operations():
    """A graph that calls Python must not wait there for its own thread."""
    python = [sys.executable, "-c", ONE_THREAD]
    ran = subprocess.run(python, input=KINDS["gif"], capture_output=True, timeout=120, check=True)
    assert ran.stdout.decode().strip() == "(7, 5, 3)"


def test_what_is_plain():
    looked = tf.function(is_plain, [tf.TensorSpec((), tf.string)], autograph=False)
    assert [kind for kind, data in KINDS.items() if looked(data)] == PLAIN
    chunk = struct.pack(">I4sI4x", 4, b"gAMA", 45455)
    for start, plain in ((chunk, True), (chunk[:4] + b"prVt" + chunk[8:], False)):
        data = KINDS["png"][:33] + start + KINDS["png"][33:]
        assert looked(data) == looks_plain(data) == plain
    for data in (b"", b"<html>", claiming("png", 8192, 1), claiming("jpeg", 1, 8192)):
        assert not looked(data)
    assert not looked(with_exif(JPEG, tiff(1))) and not looks_plain(with_exif(JPEG, tiff(1)))
    long = encoded(Image.new("RGB", (8200, 3), (7, 99, 200)), "JPEG")
    assert not looked(long) and np.abs(decoded(long) - np.array([7, 99, 200])).max() < 4


def test_one_pixel():
    white = Image.new("RGB", (1, 1), (255, 255, 255))
    for kind in ("JPEG", "PNG", "GIF", "BMP", "WEBP"):
        assert (decoded(encoded(white, kind)).numpy() >= 254).all(), kind


def test_a_frame_that_does_not_fill_its_canvas():
    gif = bytearray(encoded(PALETTE, "GIF"))
    gif[6:10] = struct.pack("<HH", 17, 19)
    place = gif.index(b",\0\0\0\0" + struct.pack("<HH", 13, 11))
    gif[place + 1 : place + 5] = struct.pack("<HH", 2, 3)
    expected = np.full((19, 17, 3), 255, "uint8")
    expected[3:14, 2:15] = np.asarray(PALETTE.convert("RGB"))
    np.testing.assert_array_equal(PictureFormat(19, 17).decode(bytes(gif)), expected)


def test_bmp_from_the_top():
    data = bytearray(KINDS["bmp"])
    data[22:26] = struct.pack("<i", -11)
    np.testing.assert_array_equal(decoded(bytes(data)), np.asarray(RGB)[::-1])


def test_the_fourth_byte_of_a_bmp_is_alpha_only_by_its_mask():
    masks = b"\0\0\xff\0\0\xff\0\0\xff\0\0\0"
    for data in (bmp(24), bmp(32), bmp(32, packing=3, masks=masks)):
        np.testing.assert_array_equal(decoded(data), np.full((11, 13, 3), 0x77))


def test_animations_and_other_kinds_of_bmp_are_refused():
    mixed = [item for data in REFUSED.values() for item in (data, JPEG)]
    pictures, readable, reasons = (part.numpy() for part in FORMAT.decode_batch(mixed))
    expected = [BMP_KIND if kind.startswith("bmp") else ANIMATED for kind in REFUSED]
    assert [reason.decode() for reason in reasons[::2]] == expected and not any(reasons[1::2])
    assert readable.tolist() == [False, True] * len(REFUSED) and not pictures[::2].any()
    np.testing.assert_array_equal(pictures[1::2], np.stack([decoded(JPEG)] * len(REFUSED)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="an animation, which is not supp"):
        decoded(REFUSED["gif animated"])


@pytest.mark.systems
def test_refused_kinds_that_are_cut():
    """Whatever is left of them, they are refused or damaged; of a GIF one frame may be whole."""
    for kind, data in REFUSED.items():
        _, readable, reasons = FORMAT.decode_batch([data[:end] for end in range(1, len(data))])
        said = {reason.decode() for reason in reasons.numpy()}
        assert said <= {ANIMATED, BMP_KIND, DAMAGED, UNKNOWN, ""}, kind
        assert not readable.numpy().any() or "gif" in kind, kind


def test_webp_without_chunks_is_not_decoded():
    """The decoder would read a bare VP8 stream, of a size that no chunk states."""
    bare = KINDS["webp"][:12] + KINDS["webp"][20:]
    hidden = KINDS["webp"][:12] + b"JUNK" + struct.pack("<I", 0) + KINDS["webp"][12:]
    _, readable, reasons = FORMAT.decode_batch([bare, hidden])
    assert not readable.numpy().any() and set(reasons.numpy()) == {DAMAGED.encode()}


def test_all_orientations_in_both_byte_orders():
    for orientation in range(1, 9):
        for order in "<>":
            for kind in (3, 4):
                data = with_exif(JPEG, tiff(orientation, order, kind))
                expected = pillow(data)
                assert expected.shape[:2] == ((13, 11) if orientation > 4 else (11, 13))
                picture = PictureFormat(*expected.shape[:2]).decode(data)
                np.testing.assert_allclose(picture, expected, atol=2)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_orientation_of_other_formats(kind):
    exif = Image.Exif()
    exif[0x0112] = 6
    options = {"lossless": True} if kind == "WEBP" else {}
    data = encoded(RGB, kind, exif=exif, **options)
    np.testing.assert_array_equal(PictureFormat(13, 11).decode(data), pillow(data))


def test_damaged_exif_is_no_orientation():
    plain = decoded(JPEG)
    good = tiff(6)
    blocks = [b"", good[:4], good[:9], good[:30], good[:39], b"XX" + good[2:], tiff(0), tiff(9)]
    blocks += [good[:4] + struct.pack("<I", far) + good[8:] for far in (0, 2, 999, 2**32 - 1)]
    blocks += [good[:8] + b"\xff\xff", tiff(65535), good[:2] + b"\0*" + good[4:]]
    for block in blocks:
        np.testing.assert_array_equal(decoded(with_exif(JPEG, block)), plain)


@pytest.mark.systems
def test_huge_claims_are_not_decoded():
    everything = PictureFormat(11, 13, max_pixels=100_000_000)
    sizes = [(16000, 15000) if "webp" in kind else (30000, 30000) for kind in CLAIMING]
    data = [claiming(kind, *size) for kind, size in zip(CLAIMING, sizes)]
    data += [claiming("png", 2**31 - 1, 2**31 - 1), claiming("bmp", 2**24 - 1, -(2**24 - 1))]
    _, readable, reasons = everything.decode_batch(data)
    assert not readable.numpy().any()
    for (width, height), reason in zip(sizes, reasons.numpy()):
        expected = f"{width}x{height} pixels, more than the limit of 100000000"
        assert reason.decode() == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="30000x30000 pixels"):
        decoded(data[0])


@pytest.mark.systems
def test_pictures_above_the_limit_are_not_decoded_and_their_neighbors_are():
    limited = PictureFormat(11, 13, max_pixels=11 * 13)
    large = [encoded(RGB.resize((13, 12)), kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP")]
    large += [with_exif(encoded(RGB.resize((13, 12)), "JPEG"), tiff(6))]
    data = [item for pair in zip(large, KINDS.values()) for item in pair]
    pictures, readable, reasons = (array.numpy() for array in limited.decode_batch(data))
    assert readable.tolist() == [False, True] * len(large)
    assert reasons.tolist() == [b"13x12 pixels, more than the limit of 143", b""] * len(large)
    np.testing.assert_array_equal(pictures[1::2], FORMAT.decode_batch(data[1::2])[0])
    assert FORMAT.decode_batch(large)[1].numpy().all()
    (reason,) = FORMAT.decode_batch([encoded(Image.new("1", (5001, 5000)), "PNG")])[2].numpy()
    assert reason == b"5001x5000 pixels, more than the limit of 25000000"


@pytest.mark.systems
def test_a_batch_decodes_no_more_than_its_limit():
    limited = PictureFormat(11, 13, max_pixels=11 * 13, max_batch_pixels=3 * 11 * 13 + 7)
    small, plain, other = encoded(RGB.resize((7, 1)), "PNG"), KINDS["png"], KINDS["bmp"]
    over = b"more than 436 pixels in one request; send this picture in another request"
    for data, good in (
        ([plain, plain, plain, plain, small], [True, True, True, False, False]),
        ([other, other, other, other], [True, True, True, False]),
        ([other, plain, b"<html>", other, plain, other], [True, True, False, True, False, False]),
        ([b"", JPEG, plain, other, other], [False, True, True, True, False]),
        ([other, *[plain] * 5], [True, True, True, False, False, False]),
        ([plain[:-9], other, plain, plain], [False, True, True, False]),
    ):
        pictures, readable, reasons = (array.numpy() for array in limited.decode_batch(data))
        assert readable.tolist() == good
        for item, picture, sound, reason in zip(data, pictures, good, reasons):
            if sound:
                np.testing.assert_array_equal(picture, FORMAT.decode_batch([item])[0][0])
            else:
                others = {b"<html>": UNKNOWN, b"": EMPTY, plain[:-9]: DAMAGED}
                assert reason == others.get(item, over.decode()).encode()


def test_limits_out_of_range():
    for limit in (0, -5, 100_000_001):
        with pytest.raises(ValueError, match=f"from 1 to 100000000. Received: {limit}$"):
            PictureFormat(5, 7, max_pixels=limit)
    with pytest.raises(ValueError, match=r"max_batch_pixels >= max_pixels=13\. Received: 11$"):
        PictureFormat(5, 7, max_pixels=13, max_batch_pixels=11)


def test_each_bad_item_has_its_reason_and_neighbors_are_as_alone():
    cut = [data[: int(share * len(data))] for data in KINDS.values() for share in (0.2, 0.6, 0.95)]
    bad = [b"", b"<html>", *cut, claiming("png", 0, 5), b"BM", b"\xff\xd8\xff", b"RIFF1234WEBP"]
    good = list(KINDS.values())
    data = [item for pair in zip(bad, good * 9) for item in pair]
    pictures, readable, reasons = (array.numpy() for array in FORMAT.decode_batch(data))
    np.testing.assert_array_equal(readable, [False, True] * len(bad))
    assert not pictures[::2].any() and not any(reasons[1::2])
    assert reasons[::2].tolist() == [
        EMPTY.encode(),
        UNKNOWN.encode(),
        *[DAMAGED.encode()] * (len(bad) - 2),
    ]
    alone = [FORMAT.decode_batch([item])[0][0].numpy() for item in good]
    for index, picture in enumerate(pictures[1::2]):
        np.testing.assert_array_equal(picture, alone[index % len(good)])


def test_empty_batch():
    pictures, readable, reasons = FORMAT.decode_batch(tf.zeros((0,), tf.string))
    assert pictures.shape == (0, 11, 13, 3) and readable.shape == reasons.shape == (0,)


@pytest.mark.systems
@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.data())
def test_mutations_never_crash(data):
    batch = []
    for original in (*KINDS.values(), *REFUSED.values()):
        mutated = bytearray(original)
        for _ in range(data.draw(st.integers(1, 5))):
            place = data.draw(st.integers(0, len(mutated) - 1))
            how = data.draw(st.sampled_from(["set", "cut", "insert", "repeat"]))
            if how == "set":
                mutated[place] = data.draw(st.integers(0, 255))
            elif how == "cut":
                del mutated[place : place + data.draw(st.integers(1, 30))]
            elif how == "insert":
                mutated[place:place] = data.draw(st.binary(max_size=7))
            else:
                mutated[place:place] = mutated[place : place + data.draw(st.integers(1, 50))]
            mutated = mutated or bytearray(b"x")
        batch.append(bytes(mutated))
    pictures, readable, reasons = (array.numpy() for array in FORMAT.decode_batch([*batch, JPEG]))
    assert [not reason for reason in reasons] == readable.tolist() and readable[-1]
    assert pictures.shape == (len(batch) + 1, 11, 13, 3) and not pictures[~readable].any()
    np.testing.assert_array_equal(pictures[-1], FORMAT.decode_batch([JPEG])[0][0])
