"""The Flickr8k token file, and sidecar files: photo.txt beside photo.jpg."""

import re
from collections.abc import Iterator
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import files_below
from keras_attn_pipelines.data.record import Record, is_text, lines_of

TOKEN_LINE = re.compile(r"(?P<name>.+)#\d+\t(?P<caption>.*)", re.DOTALL)


def is_token_file(text: str) -> bool:
    """Whether the first line is `name#number<TAB>caption`."""
    return TOKEN_LINE.fullmatch(text.split("\n", 1)[0]) is not None


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
