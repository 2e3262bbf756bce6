"""Reads text files with a sentence on each line."""

from dataclasses import dataclass, field
from pathlib import Path

from keras_attn.text_file import is_text
from keras_attn_pipelines.data.data_files import files_by_stem
from keras_attn_pipelines.data.record import unusable
from keras_attn_pipelines.data.record_file import ReadFile, RecordFile
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.text_lines import lines_of

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
    sentences, skipped = [], []
    for line, text in enumerate(lines_of(path), 1):
        if not text.strip():
            continue
        reason = "not UTF-8" if not is_text(text) else unusable("sentence", text)
        if reason:
            skipped.append(Skipped(path, line, reason))
        else:
            sentences.append(Sentence(" ".join(text.split()), line))
    if not sentences and not skipped:
        raise ValueError(f"Expected a sentence on each line of {path}. Received: none")
    return ReadFile(path, form, sentences, len(sentences) + len(skipped), skipped)


def sentence_files(data, suffix: str) -> dict[str, RecordFile]:
    """The files with a suffix in a folder by their stems, plain or .gz; or one file.

    Raises:
        ValueError: no such file or folder, or none with the suffix.
    """
    wanted = f".{suffix.removeprefix('.').lower()}"
    example = f"files such as train{wanted} in {{}}, see --suffix"
    files = files_by_stem(data, (wanted,), "sentences", example)
    return {stem: RecordFile(path, FORM, read_sentences) for stem, path in files.items()}
