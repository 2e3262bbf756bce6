"""Checks pictures before training, with the decoder that training uses.

Each file is read, hashed and decoded once, since a header does not tell whether the rest is intact;
7,000 files of Flickr8k's size take seconds. Results are cached by path, size, inode and the times
of modification and change.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.progress import Progress
from keras_attn.untrusted import read_json
from keras_attn.whole_file import made_folder, whole_file
from keras_attn_pipelines.data.user_cache import user_cache

MOST_BYTES = 2**28
"""Size of the largest file that is read, in bytes."""
BATCH = 128
BATCH_BYTES = 2**26
FORMAT = PictureFormat(8, 8).for_batches(BATCH, MOST_PIXELS)
RULES = (5, MOST_PIXELS, MOST_BYTES, tf.__version__)
"""Version of the check; increase it when decoding changes."""


class Examined(NamedTuple):
    """Result of checking a picture file.

    Attributes:
        reason: why it is unusable, or ''.
        digest: SHA-256 of its bytes in hexadecimal, or '' if they cannot be read.
        missing: how many of its last rows are gray, see `decode_with_missing_rows`.
    """

    reason: str
    digest: str
    missing: int = 0


def examine_pictures(paths: Iterable[Path], folder, cache=None) -> dict[Path, Examined]:
    """Reads and decodes pictures, except those unchanged since the last check.

    Args:
        paths: paths of pictures.
        folder: path of their data folder, the key of the cached results.
        cache: cache folder; in the user's cache if None.
    """
    cache = picture_cache(cache)
    digest = hashlib.sha256(repr((str(Path(folder).resolve()), RULES)).encode()).hexdigest()
    store = cache / f"{digest[:32]}.json"
    known, examined, unknown = _load(store), {}, []
    for path in dict.fromkeys(paths):
        if (mark := _file_state(path)) is not None and known.get(str(path), [None])[0] == mark:
            examined[path] = Examined(*known[str(path)][1:])
        else:
            unknown.append((path, mark))
    if unknown:
        new = _examine_all([path for path, _ in unknown])
        examined |= new
        marked = {str(path): [mark, *new[path]] for path, mark in unknown if mark is not None}
        _save(store, known | marked)
    return examined


def picture_cache(cache=None) -> Path:
    """The folder of what is cached of pictures; in the user's cache if None."""
    return user_cache() / "pictures" if cache is None else Path(cache)


@contextmanager
def naming_pictures(paths: Iterable[Path], folder):
    """Context in which an error in reading pictures names those that have become unusable.

    Args:
        paths: paths of the pictures read in the context.
        folder: path of their data folder.

    Raises:
        ValueError: in place of TensorFlow's error, if it is due to such pictures.
    """
    try:
        yield
    except tf.errors.OpError as error:
        examined = examine_pictures(paths, folder)
        bad = [f"{path}: {state.reason}" for path, state in examined.items() if state.reason]
        if not bad:
            raise
        raise ValueError(
            "Expected pictures unchanged since they were checked. "
            f"Received: {', '.join(bad[:5])}"
            + (f" and {len(bad) - 5} more" if len(bad) > 5 else "")
        ) from error


def _file_state(path):
    """What changes with a file's content, or with the file at its path; None if it is gone."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns]


def _examine_all(paths: Sequence[Path]) -> dict[Path, Examined]:
    examined = {}
    with Progress("examining pictures", len(paths), "picture") as progress:
        for chunk in _chunks(paths):
            contents = [content for content, _ in chunk.values()]
            decoded = FORMAT.decode_with_missing_rows(tf.constant(contents, tf.string))
            reasons, missing = decoded[2].numpy(), decoded[3].numpy().tolist()
            for (path, (content, problem)), reason, rows in zip(chunk.items(), reasons, missing):
                digest = "" if problem else hashlib.sha256(content).hexdigest()
                examined[path] = Examined(problem or reason.decode(), digest, rows)
            progress.update(len(chunk))
    return examined


def _chunks(paths) -> Iterator[dict[Path, tuple[bytes, str]]]:
    """The files' bytes, in chunks bounded by BATCH and BATCH_BYTES."""
    chunk: dict[Path, tuple[bytes, str]] = {}
    size = 0
    for path in paths:
        chunk[path] = _bytes(path)
        size += len(chunk[path][0])
        if len(chunk) == BATCH or size >= BATCH_BYTES:
            yield chunk
            chunk, size = {}, 0
    if chunk:
        yield chunk


def _bytes(path):
    """A file's bytes and an empty reason, or no bytes and the reason."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            return b"", f"{size} bytes, more than the bound of {MOST_BYTES}"
        return path.read_bytes(), ""
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"


def _load(store):
    try:
        known = read_json(store)
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _save(store, verdicts):
    """Saves the results if the cache is writable."""
    try:
        with whole_file(made_folder(store.parent) / store.name) as partial:
            partial.write_text(json.dumps(verdicts), encoding="utf-8")
    except OSError as error:
        print(f"the pictures will be examined again next time: {error}")
