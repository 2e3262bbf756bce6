"""Pairs of texts as read from files."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from keras_attn_pipelines.data.columns import PAIRS
from keras_attn_pipelines.data.record import AUTO, Record, in_language, unusable
from keras_attn_pipelines.data.record_file import ReadFile
from keras_attn_pipelines.data.skipped import Skipped, listing

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
"""Control characters, including NUL, become a space."""
MOST_SKIPPED = 1_000_000
"""Unusable records of a file that are remembered; more are an error whatever their share."""


@dataclass(frozen=True, slots=True)
class TextPair:
    """A source text and a target text.

    Attributes:
        source: text.
        target: text.
        line: line of the pair in its file, from 1.
    """

    source: str
    target: str
    line: int = field(default=0, compare=False)


def collected(
    path: Path,
    form: str,
    records: Iterable[Record],
    words: tuple[str, str] = PAIRS.words,
    language: str = AUTO,
) -> ReadFile[TextPair]:
    """Separates usable pairs and unusable records.

    Control characters become a space, runs of white space one space. A text that is then empty, or
    has more than MOST_WORDS words or MOST_CHARACTERS characters, is unusable.

    Args:
        path: path of the file.
        form: description of the format.
        records: its records.
        words: names of the two texts in messages.
        language: see `in_language`.

    Raises:
        ValueError: no usable record, or records in several languages.
    """
    found = in_language(((path, record) for record in records), language, path)
    return collected_files(path, form, found, words)


def collected_files(
    path: Path, form: str, records: Iterable[tuple[Path, Record]], words: tuple[str, str]
) -> ReadFile[TextPair]:
    """Like `collected`, for records of several files, each with its path."""
    pairs, splits, skipped, count = [], [], [], 0
    for file, record in records:
        count += 1
        pair = TextPair(_clean(record.first), _clean(record.second), record.line)
        reasons = (unusable(words[0], pair.source), unusable(words[1], pair.target))
        if reason := record.reason or next(filter(None, reasons), ""):
            skipped.append(Skipped(file, record.line, reason))
            if len(skipped) > MOST_SKIPPED:
                raise ValueError(
                    f"Expected at most {MOST_SKIPPED} unusable records in {path}. "
                    f"Received: more:{listing(skipped)}"
                )
        else:
            pairs.append(pair)
            splits.append(record.split)
    if not pairs:
        raise ValueError(f"Expected usable records in {path}. Received: none{listing(skipped)}")
    return ReadFile(path, form, pairs, count, skipped, splits if any(splits) else ())


def _clean(text):
    return " ".join(text.translate(CONTROLS).split())
