"""The Flickr8k token file, and sidecar files: photo.txt beside photo.jpg."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.columns import PAIRS, TEXT_LABELS, Columns
from keras_attn_pipelines.data.data_files import files_below
from keras_attn_pipelines.data.readers.csv_reader import TAB, delimiter_of, header_of, open_table
from keras_attn_pipelines.data.record import Reader, Record
from keras_attn_pipelines.data.text_lines import is_text, lines_of, start_of

TOKEN_LINE = re.compile(r"(?P<name>[^\t]+)#\d+\t(?P<caption>.*)", re.DOTALL)
FIRST_LINES = 10
LABEL = "__label__"
"""The beginning of a label in fastText's format."""


class NoRecordsError(ValueError):
    """Plain text has no records."""


def open_text(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of the format of a text file, and its reader.

    Raises:
        ValueError: it is none of records.
    """
    text = start_of(path)
    if columns.known is TEXT_LABELS and text.startswith(LABEL):
        return "fastText labels", partial(read_labeled_lines, path)
    if columns.known is PAIRS and TAB in text.split("\n", 1)[0]:
        return open_table(path, columns, TAB)
    if is_token_file(text):
        return "Flickr8k tokens", partial(read_tokens, path)
    delimiter = delimiter_of(text, columns, ",")
    if not columns.missing_of(header_of(text, delimiter)):
        return open_table(path, columns, ",")
    raise NoRecordsError(
        f"Expected lines of picture#number, a tab and a caption, or a CSV, in {path}. "
        f"Received: {text.split(chr(10), 1)[0]!r:.80}"
    )


def is_token_file(text: str) -> bool:
    """Whether most of the first lines are `name#number<TAB>caption`."""
    lines = [line for line in text.split("\n", FIRST_LINES)[:FIRST_LINES] if line.strip()]
    return 2 * sum(TOKEN_LINE.fullmatch(line) is not None for line in lines) > len(lines)


def read_tokens(path: Path) -> Iterator[Record]:
    """Yields the records of a Flickr8k token file."""
    for line, text in _lines(path):
        match = TOKEN_LINE.fullmatch(text)
        if not is_text(text):
            yield Record(line, reason="not UTF-8")
        elif match is None:
            yield Record(line, reason="expected picture#number, a tab and the caption")
        else:
            yield Record(line, match["name"], match["caption"])


def read_labeled_lines(path: Path) -> Iterator[Record]:
    """Yields the records of fastText's format, `__label__LABEL TEXT`."""
    for line, text in _lines(path):
        words = text.split()
        labels = [word for word in words if word.startswith(LABEL)]
        if not is_text(text) or len(labels) != 1:
            reason = f"{len(labels)} labels (expected one)" if is_text(text) else "not UTF-8"
            yield Record(line, reason=reason)
        else:
            said = " ".join(word for word in words if not word.startswith(LABEL))
            yield Record(line, said, labels[0].removeprefix(LABEL))


def sidecars(folder: Path) -> list[tuple[Path, Path | None]]:
    """Pictures in a folder, at any depth, each with the text file beside it or None."""
    pictures = [file for file in files_below(folder) if file.suffix.lower() in PICTURE_SUFFIXES]
    beside = ((picture, picture.with_suffix(".txt")) for picture in pictures if picture.is_file())
    return [(picture, text if text.is_file() else None) for picture, text in beside]


def read_sidecar(path: Path, name: str) -> Iterator[Record]:
    """Yields the captions of one picture, one per line; skips blank lines."""
    empty = True
    for line, text in _lines(path):
        empty = False
        yield Record(line, name, text) if is_text(text) else Record(line, reason="not UTF-8")
    if empty:
        yield Record(1, reason="empty caption")


def _lines(path):
    return ((line, text) for line, text in enumerate(lines_of(path), 1) if text.strip())
