"""A fingerprint of records: equal for equal records in the same order."""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

DIGEST, RECORDED = "digest", "recorded"
"""Attributes of records in shards: of their bytes now, and of the records when they were stored."""


def fingerprint(splits: Mapping[str, Any], digest_name: str = DIGEST) -> str:
    """SHA-256, in hexadecimal, of the records of some splits.

    A record is a dataclass, or consists of strings, bytes, numbers, arrays and paths in sequences
    and dicts. A path counts by the content of its file, or by the record's field `digest` if there
    is one. Fields with `compare=False`, such as a line number, are ignored.

    Args:
        splits: sequences of records, or one dataclass of arrays, by the names of splits.
        digest_name: attribute of sequences in shards that stands for their content.

    Raises:
        ValueError: a record of another type.
    """
    digest = hashlib.sha256()
    for name, records in splits.items():
        _add(digest, name)
        if hasattr(records, digest_name):  # Of records in shards.
            _write(digest, "records", getattr(records, digest_name).encode())
        else:
            _add(digest, records)
    return digest.hexdigest()


def _add(digest, value):
    """Adds a value with its type and length, so that different values add different bytes."""
    if isinstance(value, str):
        _write(digest, "text", value.encode(errors="surrogateescape"))
    elif isinstance(value, bytes):
        _write(digest, "bytes", value)
    elif value is None or isinstance(value, bool | int | float | np.number):
        _write(digest, "number", repr(value).encode())
    elif isinstance(value, np.ndarray):
        _write(digest, f"array {value.dtype} {value.shape}", np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Path):
        _write(digest, "file", value.read_bytes())
    elif dataclasses.is_dataclass(value):
        _add_dataclass(digest, value)
    elif isinstance(value, Mapping):
        _write(digest, f"dict {len(value)}")
        for item in value.items():
            _add(digest, item)
    elif isinstance(value, Iterable):
        for item in value:
            _add(digest, item)
        _write(digest, "end")
    else:
        raise ValueError(
            "Expected records that are dataclasses, or made of texts, bytes, numbers, arrays and "
            f"paths. Received: {type(value).__name__}"
        )


def _add_dataclass(digest, value):
    known = hasattr(value, DIGEST)
    _write(digest, type(value).__name__)
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if field.compare and not (known and hasattr(inner, "read_bytes")):
            _add(digest, inner)
    _write(digest, "end")


def _write(digest, kind, content=b""):
    digest.update(f"{kind} {len(content)}\n".encode())
    digest.update(content)
