"""Safe reading of files from untrusted sources, with errors that name them."""

import ast
import contextlib
import io
import json
import math
import tarfile
import tokenize
import types
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

MOST_DEPTH = 100
"""Levels of lists and objects in JSON; Python's own limit depends on who calls."""
MOST_SHOWN = 300
"""Characters of a library's error that a message repeats, on one line."""
_FLOOR, _MOST_EXPANSION = 1 << 28, 100
"""A member of an archive that is larger once unpacked may be this many times as large as packed."""
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class DamagedFileError(ValueError):
    """A file is damaged, or not what it should be; the message names it."""


@contextlib.contextmanager
def naming_damage(expected: str, place: str = "") -> Iterator[None]:
    """Context in which whatever a damaged file makes its reader raise becomes one kind of error.

    Args:
        expected: what was to be read.
        place: file and line; '' if `expected` names them.

    Raises:
        DamagedFileError: in place of any other error ("Expected JSON in a.json. Received: Extra
            data: line 1 column 3 (char 2)").
        ImportError: as it is; a package is not installed.
    """
    try:
        yield
    except (DamagedFileError, ImportError):
        raise
    except Exception as error:
        received = f"{place}: {reason_of(error)}" if place else reason_of(error)
        raise DamagedFileError(f"Expected {expected}. Received: {received}") from error


def reason_of(error: BaseException) -> str:
    """What an error says, in a message that names the file.

    Example:
        >>> reason_of(KeyError("words")), reason_of(EOFError())
        ("no 'words'", 'EOFError')
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, UnicodeDecodeError):
        return f"{error.reason} 0x{error.object[error.start]:02x} at {error.start}"
    if isinstance(error, KeyError):
        return f"no {error}"
    return " ".join(str(error).split())[:MOST_SHOWN] or type(error).__name__


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: no JSON, not UTF-8, an integer of thousands of digits, or lists and objects
            nested deeper than `MOST_DEPTH`, which code that walks through them may not survive.
    """
    deep = f"JSON nested more than {MOST_DEPTH} levels deep"
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(deep) from error
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise ValueError(deep)


def read_json(path, expected: str = "JSON") -> Any:
    """The value of a JSON file.

    Args:
        path: of the file.
        expected: what it holds, in messages.

    Raises:
        DamagedFileError: it cannot be read or is no JSON ("Expected JSON in recipe.json. Received:
            Expecting value: line 1 column 1 (char 0)").
    """
    with naming_damage(f"{expected} in {path}"):
        return parse_json(Path(path).read_text(encoding="utf-8"))


def check_types(values: Mapping[str, Any], **kinds: type | types.UnionType) -> None:
    """Raises TypeError for a value of another type in a JSON object, KeyError for a missing one.

    Example:
        >>> check_types({"step": "7"}, step=int)
        Traceback (most recent call last):
        TypeError: step='7'
    """
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name}={values[name]!r:.80}")


def read_arrays(path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of an `.npz` file by name; nothing in it is run.

    Before memory is allocated, the shape that each array declares is compared with its size.

    Args:
        path: of the file.
        names: of the arrays to read, if they are there. Default: all.

    Raises:
        Exception: of any kind, if the file is damaged; see `naming_damage`.
    """
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        return {
            name: _array(archive, info)
            for name, info in members.items()
            if names is None or name in names
        }


def check_member(info: zipfile.ZipInfo) -> None:
    """Raises ValueError for a member of an archive that is almost nothing until it is unpacked."""
    if info.file_size > max(_FLOOR, _MOST_EXPANSION * info.compress_size):
        raise ValueError(
            f"{info.filename}, which unpacks from {info.compress_size} to {info.file_size} bytes"
        )


def check_tar(path: Path) -> None:
    """Raises ValueError for a damaged tar file, or one with links or names that lead out of it."""
    try:
        with tarfile.open(path) as archive:
            members = archive.getmembers()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ValueError(f"Expected a whole tar file at {path}. Received: {error}") from error
    for member in members:
        place = PurePosixPath(member.name)
        kind = "" if member.isfile() or member.isdir() else "a link or device"
        if kind or place.is_absolute() or ".." in place.parts:
            received = f"{kind}, {member.name!r}" if kind else repr(member.name)
            raise ValueError(f"Expected files inside {path}. Received: {received}")


def _array(archive, info):
    check_member(info)
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"{info.filename} in version {version} of the .npy format")
        shape, _, dtype = _HEADERS[version](file)
        declared, there = math.prod(shape) * dtype.itemsize, info.file_size - file.tell()
        if declared != there and not dtype.hasobject:  # Pickled objects are refused below.
            raise ValueError(f"{info.filename} with {there} bytes for {dtype} of shape {shape}")
    with archive.open(info) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def scalar_text(value):
    """A number or a truth value in JSON as its text; None for one that is not finite, which pandas
    writes for missing values; other values as they are.

    Example:
        >>> scalar_text(1990), scalar_text(True), scalar_text("x"), scalar_text(None)
        ('1990', 'true', 'x', None)
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def listed_texts(cell: str) -> list[str]:
    """The texts in a cell: those of a list as JSON or Python writes it, otherwise the cell.

    Raises:
        ValueError: texts in brackets without commas between them, as NumPy writes them.

    Example:
        >>> listed_texts("a cat"), listed_texts("['a cat', 'one cat']"), listed_texts("[laughs]")
        (['a cat'], ['a cat', 'one cat'], ['[laughs]'])
    """
    plain = cell.strip()
    if plain[:1] + plain[-1:] not in ("[]", "()"):
        return [cell]
    try:
        value = parse_json(plain)
    except ValueError:
        value = _python_list(plain)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return value
    if plain[1:2] in ("'", '"') and plain[-2:-1] in ("'", '"', "n", "e"):
        raise ValueError("a list that is not one of texts")
    return [cell]


def _python_list(cell):
    """The value of a Python list of strings; None for anything else."""
    try:
        value = ast.literal_eval(cell)
        tokens = tokenize.generate_tokens(io.StringIO(cell).readline)
        count = sum(token.type == tokenize.STRING for token in tokens)
    except (ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
        return None
    if isinstance(value, list) and value and len(value) != count:
        raise ValueError("a list of texts without commas between them")
    return list(value) if isinstance(value, list | tuple) else None
