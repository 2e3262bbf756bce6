"""Sets of facts with the texts that say them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from keras_attn.text_file import is_text
from keras_attn_pipelines.data.pairs import CONTROLS
from keras_attn_pipelines.data.record import AUTO, in_language, unusable
from keras_attn_pipelines.data.record_file import ReadFile
from keras_attn_pipelines.data.skipped import Skipped, listing

Fact = tuple[str, str, str]
PARTS = ("subject", "property", "object")


@dataclass(frozen=True, slots=True)
class FactSet:
    """A set of facts and the texts that say them.

    Attributes:
        facts: subject, property and object of each; the subject is '' in a table.
        texts: one or more.
        orders: for each text the facts in the order of their mention, from 0; () if unknown.
        category: of the facts, such as "Airport"; '' if unknown.
        line: line of the record in its file, from 1, or 0 if unknown.
    """

    facts: tuple[Fact, ...]
    texts: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...] = ()
    category: str = ""
    line: int = field(default=0, compare=False)

    @property
    def source(self) -> str:
        """The facts as one text, whatever their order."""
        return "; ".join(" | ".join(filter(None, fact)) for fact in sorted(self.facts))


@dataclass(frozen=True, slots=True)
class FactText:
    """A set of facts and one text that says them.

    Attributes:
        facts: see `FactSet`.
        target: the text.
        line: see `FactSet`.
    """

    facts: tuple[Fact, ...]
    target: str
    line: int = field(default=0, compare=False)

    @property
    def source(self) -> str:
        """See `FactSet`."""
        return FactSet(self.facts, ()).source


@dataclass(frozen=True)
class FactRecord:
    """A record as read, usable or not.

    Attributes:
        found: `FactSet`; of an unusable record, only its line counts.
        reason: why it is unusable, or ''.
        split: see `Record`.
        language: see `Record`.
    """

    found: FactSet
    reason: str = ""
    split: str = ""
    language: str = ""


def fact_texts(records: Iterable[FactSet]) -> list[FactText]:
    """A pair of each text with its facts."""
    return [
        FactText(record.facts, text, record.line) for record in records for text in record.texts
    ]


def collected_facts(
    path: Path,
    form: str,
    records: Iterable[tuple[Path, FactRecord]],
    joins: bool = False,
    language: str = AUTO,
) -> ReadFile[FactSet]:
    """Separates usable records and unusable ones.

    Control characters become a space, runs of white space one space.

    Args:
        path: of the file.
        form: description of the format.
        records: as read, each with its file.
        joins: whether records with the same facts become one with the texts of all.
        language: see `in_language`.

    Raises:
        ValueError: no usable record, or records in several languages.
    """
    joined: dict[Any, FactSet] = {}
    splits: dict[Any, str] = {}
    skipped, count = [], 0
    for file, record in in_language(records, language, path):
        count += 1
        cleaned = _cleaned(record.found)
        if reason := record.reason or _reason(cleaned):
            skipped.append(Skipped(file, record.found.line, reason))
            continue
        key = (record.split, *sorted(cleaned.facts)) if joins else count
        splits[key] = record.split
        joined[key] = _joined(joined[key], cleaned) if key in joined else cleaned
    if not joined:
        raise ValueError(f"Expected usable records in {path}. Received: none{listing(skipped)}")
    named = [splits[key] for key in joined] if any(splits.values()) else []
    return ReadFile(path, form, list(joined.values()), count, skipped, named)


def _reason(record: FactSet) -> str:
    """Why a record is unusable; '' if it is usable."""
    if not record.facts:
        return "no facts"
    seen: dict[Fact, int] = {}
    for number, fact in enumerate(record.facts, 1):
        for name, part in zip(PARTS[1:], fact[1:]):
            if not part:
                return f"fact {number} without {name}"
        if fact in seen:
            return f"fact {number} repeats fact {seen[fact]}"
        seen[fact] = number
    if not record.texts:
        return "no text"
    texts = (*(part for fact in record.facts for part in fact), *record.texts)
    if not all(map(is_text, texts)):
        return "not UTF-8"
    return next(filter(None, (unusable("text", text) for text in record.texts)), "")


def _cleaned(record: FactSet) -> FactSet:
    facts = tuple((_plain(a), _plain(b), _plain(c)) for a, b, c in record.facts)
    return replace(record, facts=facts, texts=tuple(map(_plain, record.texts)))


def _plain(text: str) -> str:
    return " ".join(text.translate(CONTROLS).split())


def _joined(first: FactSet, other: FactSet) -> FactSet:
    """A record with the texts of both, in the order of the first one's facts."""
    places = {fact: place for place, fact in enumerate(first.facts)}
    orders = tuple(tuple(places[other.facts[item]] for item in order) for order in other.orders)
    return replace(first, texts=first.texts + other.texts, orders=first.orders + orders)
