"""Malformed rows and requests, drawn from valid ones."""

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

HUGE = 0x7FFFFFFF
HEADER = struct.pack(">IIBBBBB", HUGE, HUGE, 8, 2, 0, 0, 0)
CHUNK = b"IHDR" + HEADER
HEADS = (
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + CHUNK + struct.pack(">I", zlib.crc32(CHUNK)),
    b"BM" + struct.pack("<IIIIiiHH", 1 << 31, 0, 54, 40, -HUGE, -HUGE, 1, 24) + bytes(24),
    b"GIF89a" + b"\xff" * 7 + b"\x2c" + b"\xff" * 9,
    b"RIFF\xff\xff\xff\xffWEBPVP8X" + b"\xff" * 18,
    b"\xff\xd8\xff\xe1\xff\xffExif\0\0MM\0*\xff\xff\xff\xff",
)
"""Beginnings of pictures that claim to be far larger than they are."""
ODD_TEXTS = (
    b"\xff",
    b"\0",
    "\N{COMBINING GRAVE ACCENT}".encode() * 300,
    "\N{RIGHT-TO-LEFT OVERRIDE}☂\N{ZERO WIDTH JOINER}😀".encode(),
    b"\xed\xa0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"(S (NP" * 99,
    b"\n" * 999,
    b" ",
    b'[["a","b"]]',
)


def malformed_value(random: np.random.Generator, value: bytes) -> bytes:
    """Bytes like others, with something wrong; seldom with nothing wrong after all."""
    kind = random.integers(9)
    if kind == 0:
        return b""
    if kind == 1:
        return random.bytes(int(random.integers(1, 300)))
    if kind == 2:
        return HEADS[random.integers(len(HEADS))] + value[: random.integers(200)]
    if kind == 3:
        return ODD_TEXTS[random.integers(len(ODD_TEXTS))]
    place = int(random.integers(len(value) + 1))
    if kind == 4:
        return value[:place]
    if kind == 5:
        return value[:place] + ODD_TEXTS[random.integers(len(ODD_TEXTS))] + value[place:]
    if kind == 6:
        return value * int(random.integers(2, 200))
    flipped = bytearray(value)
    most = len(value) if kind == 7 else min(len(value), 64)  # Heads are short.
    for _ in range(int(random.integers(1, 9)) if value else 0):
        flipped[random.integers(most)] ^= 1 << random.integers(8)
    return bytes(flipped)


def malformed_row(random: np.random.Generator, row: dict[str, Any]) -> dict[str, Any]:
    """A row with something wrong in one of its inputs."""
    name = sorted(row)[random.integers(len(row))]
    value = row[name]
    if isinstance(value, bytes):
        return {**row, name: malformed_value(random, value)}
    spoiled = value.copy()
    place = tuple(random.integers(size) for size in value.shape)
    spoiled[place] = malformed_value(random, value[place])
    return {**row, name: spoiled}


def malformed_request(
    random: np.random.Generator, signature: str, columns: dict[str, np.ndarray]
) -> tuple[str, dict[str, np.ndarray]]:
    """A request with something wrong as a whole.

    Args:
        random: NumPy's generator.
        signature: name of a signature.
        columns: dict of arrays of B > 1 rows, a valid request.

    Returns:
        the signature and the columns, one of them with another name, type, rank or length.
    """
    name = sorted(columns)[random.integers(len(columns))]
    array, others = columns[name], {key: columns[key] for key in columns if key != name}
    number = np.dtype(random.choice(["float32", "int64", "bool", "uint8", "float16"]))
    changed: Sequence[tuple[str, dict[str, np.ndarray]]] = (
        ("no such signature", columns),
        (signature, others),
        (signature, {**others, "no such input": array}),
        (signature, {**columns, "one more": array}),
        (signature, {**others, name: np.zeros(array.shape, number)}),
        (signature, {**others, name: array[..., None]}),
        (signature, {**others, name: array[0, ...]}),
        (signature, {**others, name: np.array(b"", object)}),
        (signature, {**others, name: array[:0]}),
        (signature, {**others, name: array[:1]}),
        (signature, {**others, name: np.zeros((0, 3), number)}),
    )
    return changed[random.integers(len(changed))]
