"""Reads text files with a sentence on each line."""

from dataclasses import dataclass, field
from pathlib import Path

from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.record import unusable
from keras_attn_pipelines.data.record_file import ReadFile, RecordFile
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.split_names import check_named_splits
from keras_attn_pipelines.data.text_lines import is_text, lines_of, stem_of, suffix_of

FORM = "a sentence on each line"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence.

    Attributes:
        source: text.
        line: its line in the file, from 1.
    """

    source: str
    line: int = field(default=0, compare=False)


def read_sentences(path: Path, form: str) -> ReadFile[Sentence]:
    """Reads a file with a sentence on each line; blank lines do not count.

    Args:
        path: of the file.
        form: name of the layout.

    Raises:
        ValueError: no usable line.
    """
    sentences, skipped, count = [], [], 0
    for line, text in enumerate(lines_of(path), 1):
        if not text.strip():
            continue
        count += 1
        reason = "not UTF-8" if not is_text(text) else unusable("sentence", text)
        if reason:
            skipped.append(Skipped(path, line, reason))
        else:
            sentences.append(Sentence(" ".join(text.split()), line))
    if not count:
        raise ValueError(f"Expected a sentence on each line of {path}. Received: none")
    return ReadFile(path, form, sentences, count, skipped)


def sentence_files(data, suffix: str) -> dict[str, RecordFile]:
    """The files with a suffix in a folder by their stems, plain or .gz; or one file.

    Raises:
        ValueError: no such file or folder, or none with the suffix.
    """
    path = Path(data)
    if path.is_file():
        return {stem_of(path): RecordFile(path, FORM, read_sentences)}
    if not path.is_dir():
        raise ValueError(f"Expected sentences at {path}. Received: no such file or folder")
    wanted = f".{suffix.removeprefix('.').lower()}"
    files = [file for file in sorted(path.iterdir(), reverse=True) if file.is_file()]
    named = [check_inside(file, path) for file in files if suffix_of(file) == wanted]
    # The plain file, if both exist.
    found = {stem_of(file): RecordFile(file, FORM, read_sentences) for file in named}
    if not found:
        names = ", ".join(file.name for file in files[-5:]) or "nothing"
        raise ValueError(
            f"Expected files such as train{wanted} in {path}, see --suffix. Received: {names}"
        )
    check_named_splits(path, found)
    return found
