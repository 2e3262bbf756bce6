"""Pairs of texts as read from files."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from keras_attn_pipelines.data.record import PAIRS, Record, unusable
from keras_attn_pipelines.data.skipped import Skipped, check_share, listing

CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
"""Control characters, including NUL, become a space."""
MOST_SKIPPED = 1_000_000
"""Unusable records of a file that are remembered; more are an error whatever their share."""


P = TypeVar("P")


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


@dataclass(frozen=True)
class PairFile(Generic[P]):
    """What was read from a file of pairs, or from two parallel ones.

    Attributes:
        path: path of the file.
        form: description of the format.
        pairs: list of pairs, such as `TextPair`, in order, duplicates kept.
        records: number of records, unusable ones included.
        skipped: list of `Skipped`, the unusable ones.
    """

    path: Path
    form: str
    pairs: list[P]
    records: int
    skipped: list[Skipped]

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the records were skipped."""
        check_share(self.skipped, self.records, tolerance)


def collected(
    path: Path,
    form: str,
    records: Iterable[Record],
    words: tuple[str, str] = PAIRS.words,
) -> PairFile[TextPair]:
    """Separates usable pairs and unusable records.

    Control characters become a space, runs of white space one space. A text that is then empty, or
    has more than MOST_WORDS words or MOST_CHARACTERS characters, is unusable.

    Args:
        path: path of the file.
        form: description of the format.
        records: its records.
        words: names of the two texts in messages.

    Raises:
        ValueError: no usable record.
    """
    return collected_files(path, form, ((path, record) for record in records), words)


def collected_files(
    path: Path, form: str, records: Iterable[tuple[Path, Record]], words: tuple[str, str]
) -> PairFile[TextPair]:
    """Like `collected`, for records of several files, each with its path."""
    pairs, skipped, count = [], [], 0
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
    if not pairs:
        raise ValueError(f"Expected usable records in {path}. Received: none{listing(skipped)}")
    return PairFile(path, form, pairs, count, skipped)


def _clean(text):
    return " ".join(text.translate(CONTROLS).split())
