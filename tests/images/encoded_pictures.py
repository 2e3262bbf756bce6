"""Encoded pictures of every kind that is read or refused, 13 x 11, and what can be wrong."""

import io
import struct

import numpy as np
import tensorflow as tf
from PIL import Image, PngImagePlugin

RANDOM = np.random.default_rng(3)
RGB = Image.fromarray(RANDOM.integers(0, 256, (11, 13, 3), "uint8"))
RGBA = Image.fromarray(RANDOM.integers(0, 256, (11, 13, 4), "uint8"))
GRAY = RGB.convert("L")
DEEP = Image.fromarray(RANDOM.integers(0, 65536, (11, 13)).astype("uint16"))
SLOPE = Image.fromarray(np.add.outer(np.arange(11) * 9, np.arange(13) * 9).astype("uint8"))
PALETTE = RGB.quantize(16)
TEXTS = PngImagePlugin.PngInfo()
TEXTS.add_text("Comment", "IDAT")


def encoded(image, kind, **options):
    """The bytes of a Pillow image in a format."""
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


KINDS = {
    "jpeg": encoded(SLOPE.convert("RGB"), "JPEG"),
    "jpeg progressive": encoded(SLOPE.convert("RGB"), "JPEG", progressive=True),
    "jpeg gray": encoded(SLOPE, "JPEG"),
    "jpeg cmyk": encoded(SLOPE.convert("CMYK"), "JPEG", quality=95),
    "png": encoded(RGB, "PNG"),
    "png alpha": encoded(RGBA, "PNG"),
    "png gray": encoded(GRAY, "PNG"),
    "png gray alpha": encoded(RGBA.convert("LA"), "PNG"),
    "png 16 bits": encoded(DEEP, "PNG"),
    "png 16 bits RGB": tf.io.encode_png(RANDOM.integers(0, 65536, (11, 13, 3), "uint16")).numpy(),
    "png with text": encoded(RGB, "PNG", pnginfo=TEXTS),
    "png with a profile, one color transparent": encoded(
        SLOPE.convert("RGB"), "PNG", icc_profile=b"IDAT" * 9, transparency=(9, 9, 9)
    ),
    "png 1 bit": encoded(GRAY.convert("1"), "PNG"),
    "png palette": encoded(PALETTE, "PNG"),
    "png palette, one transparent": encoded(PALETTE, "PNG", transparency=3),
    "png palette, all alphas": encoded(RGBA.quantize(16), "PNG"),
    "png one gray transparent": encoded(SLOPE, "PNG", transparency=9),
    "png one color transparent": encoded(SLOPE.convert("RGB"), "PNG", transparency=(9, 9, 9)),
    "gif": encoded(PALETTE, "GIF"),
    "gif transparent": encoded(PALETTE, "GIF", transparency=3),
    "gif interlaced": encoded(PALETTE, "GIF", interlace=1),
    "gif with a comment": encoded(PALETTE, "GIF", comment=b"x" * 700),
    "bmp": encoded(RGB, "BMP"),
    "bmp 32 bits": encoded(RGBA, "BMP"),
    "webp": encoded(SLOPE.convert("RGB"), "WEBP"),
    "webp lossless": encoded(RGB, "WEBP", lossless=True),
    "webp alpha": encoded(RGBA, "WEBP"),
    "webp lossless alpha": encoded(RGBA, "WEBP", lossless=True),
}
JPEG = KINDS["jpeg"]


def bmp(bits, packing=0, masks=b""):
    """A BMP of one gray, of so many bits a pixel."""
    stride = (bits * 13 + 31) // 32 * 4
    header = struct.pack("<IiiHHIIiiII", 40, 13, 11, 1, bits, packing, 0, 0, 0, 0, 0) + masks
    start = struct.pack("<IHHI", 0, 0, 0, 14 + len(header))
    return b"BM" + start + header + b"\x77" * (11 * stride)


OS2 = struct.pack("<IHHI", 0, 0, 0, 26) + struct.pack("<IHHHH", 12, 13, 11, 1, 24)
STILL = encoded(RGB, "WEBP", lossless=True)
REFUSED = {
    "gif animated": encoded(
        PALETTE, "GIF", save_all=True, append_images=[GRAY.convert("P")], comment=b"x" * 700
    ),
    "gif animated, transparent": encoded(
        PALETTE, "GIF", save_all=True, append_images=[GRAY.convert("P")], transparency=3, loop=0
    ),
    "webp animated": encoded(
        RGB, "WEBP", save_all=True, append_images=[SLOPE.convert("RGB")], lossless=True
    ),
    "webp animated alpha": encoded(RGBA, "WEBP", save_all=True, append_images=[RGB]),
    "webp said to be animated": b"".join(
        [STILL[:12], b"VP8X\x0a\0\0\0\2\0\0\0\x0c\0\0\x0a\0\0", STILL[12:]]
    ),
    "bmp palette": encoded(PALETTE, "BMP"),
    "bmp gray": encoded(GRAY, "BMP"),
    "bmp 1 bit": encoded(GRAY.convert("1"), "BMP"),
    "bmp 4 bits": bmp(4),
    "bmp 16 bits": bmp(16),
    "bmp run lengths": bmp(8, packing=1),
    "bmp other masks": bmp(32, packing=3, masks=b"\xff\0\0\0\0\xff\0\0\0\0\xff\0"),
    "bmp of OS/2": b"BM" + OS2 + KINDS["bmp"][54:],
}
"""Pictures of kinds that are refused, each with its reason."""


def tiff(orientation, order="<", kind=3):
    """A TIFF block with a few entries, orientation in their middle."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    value = struct.pack(order + ("HH" if kind == 3 else "I"), *[orientation, 0][: 5 - kind])
    entries = [struct.pack(order + "HHII", tag, 4, 1, 5) for tag in (0x0100, 0x0101)]
    entries.append(struct.pack(order + "HHI", 0x0112, kind, 1) + value)
    entries.append(struct.pack(order + "HHII", 0x0128, 4, 1, 2))
    body = struct.pack(order + "H", len(entries)) + b"".join(entries) + bytes(4)
    return mark + struct.pack(order + "I", 8) + body


def with_exif(data, block):
    """A JPEG with a comment and the block in an APP1 segment, after its APP0."""
    comment = b"\xff\xfe" + struct.pack(">H", 2 + 300) + b"x" * 300
    segment = b"\xff\xff\xe1" + struct.pack(">H", 8 + len(block)) + b"Exif\0\0" + block
    return data[:20] + comment + segment + data[20:]


def claiming(kind, width, height):
    """A picture whose header states another size."""
    data = bytearray(KINDS[kind])
    if kind.startswith("jpeg"):
        place = data.index(b"\xff\xc0")
        data[place + 5 : place + 9] = struct.pack(">HH", height, width)
    elif kind == "png":
        data[16:24] = struct.pack(">II", width, height)
    elif kind == "bmp":
        data[18:26] = struct.pack("<ii", width, height)
    elif kind == "gif":
        data[6:10] = struct.pack("<HH", width, height)
    elif kind == "webp":
        place = data.index(b"\x9d\x01\x2a") + 3
        data[place : place + 4] = struct.pack("<HH", width, height)
    elif kind == "webp lossless":
        data[21:25] = struct.pack("<I", (width - 1) | (height - 1) << 14)
    return bytes(data)


CLAIMING = ["jpeg", "png", "bmp", "gif", "webp", "webp lossless"]
