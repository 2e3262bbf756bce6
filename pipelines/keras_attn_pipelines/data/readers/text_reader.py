"""The Flickr8k token file, and sidecar files: photo.txt beside photo.jpg."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn.text_file import is_text
from keras_attn.text_table import TAB, header_of
from keras_attn_pipelines.data.columns import PAIRS, TEXT_LABELS, Columns
from keras_attn_pipelines.data.data_files import files_below, way_out
from keras_attn_pipelines.data.readers.csv_reader import delimiter_of, open_table
from keras_attn_pipelines.data.record import Reader, Record
from keras_attn_pipelines.data.text_lines import lines_of, start_of

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
        if not is_text(text):
            yield Record(line, reason="not UTF-8")
        elif match := TOKEN_LINE.fullmatch(text):
            yield Record(line, match["name"], match["caption"])
        else:
            yield Record(line, reason="expected picture#number, a tab and the caption")


def read_labeled_lines(path: Path) -> Iterator[Record]:
    """Yields the records of fastText's format, `__label__LABEL TEXT`."""
    for line, text in _lines(path):
        words = text.split()
        labels = [word.removeprefix(LABEL) for word in words if word.startswith(LABEL)]
        said = " ".join(word for word in words if not word.startswith(LABEL))
        reason = "" if len(labels) == 1 else f"{len(labels)} labels (expected one)"
        reason = reason if is_text(text) else "not UTF-8"
        yield Record(line, reason=reason) if reason else Record(line, said, labels[0])


def sidecars(images: Path) -> dict[Path, Path | None]:
    """Pictures in a folder, at any depth, each with the text file beside it or None."""
    files = [file for file in files_below(images) if file.suffix.lower() in PICTURE_SUFFIXES]
    beside = ((file, file.with_suffix(".txt")) for file in files if file.is_file())
    return {picture: text if text.is_file() else None for picture, text in beside}


def read_sidecars(folder: Path, images: Path) -> Iterator[tuple[Path, Record]]:
    """Yields the captions of pictures, one per line of the text files beside them; blank lines do
    not count.

    Args:
        folder: data folder, which text files may not lead out of.
        images: folder of the pictures, whose other text files are no captions.
    """
    pictures = sidecars(images)
    texts = set(pictures.values())
    for picture, text in pictures.items():
        name = picture.relative_to(images).as_posix()
        if text is None or (reason := way_out(text, folder)):
            reason = reason if text else "no text file with captions beside it"
            yield text or picture, Record(0, reason=reason)
            continue
        line = 0
        for line, said in _lines(text):
            reason = "" if is_text(said) else "not UTF-8"
            yield text, Record(line, reason=reason) if reason else Record(line, name, said)
        if not line:
            yield text, Record(1, reason="empty caption")
    for path in files_below(images) if images != folder else ():
        if path.suffix == ".txt" and path not in texts:
            yield path, Record(0, reason="no picture beside it")


def _lines(path):
    return ((line, text) for line, text in enumerate(lines_of(path), 1) if text.strip())
