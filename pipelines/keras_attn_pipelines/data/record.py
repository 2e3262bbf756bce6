"""Records of two fields, which every reader yields."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R", bound=Any)
AUTO = "auto"
"""The name of a column, or a language, that the data themselves tell."""
UNNAMED = "a record that names no language"

MOST_WORDS = 50_000
MOST_CHARACTERS = 10 * MOST_WORDS
"""The same bound where there are no spaces."""
INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Me", "Mn", "Zl", "Zp", "Zs")
"""Unicode categories of characters that alone make no text, such as zero-width spaces."""
BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols that show nothing: fillers of Hangul, and an empty pattern of Braille."""


@dataclass(frozen=True)
class Record:
    """A record of two fields, as in a file.

    Attributes:
        line: its line from 1, or 0 if unknown.
        first: name of the picture, or source text.
        second: caption or label, or target text.
        reason: why it is unusable, or ''.
        split: "train", "dev", "test" or another name, if the record says so itself.
        language: of its texts, if the record says so itself.
    """

    line: int
    first: str = ""
    second: str = ""
    reason: str = ""
    split: str = ""
    language: str = ""


Reader = Callable[[], Iterator[Record]]
"""Function that yields the records of a file."""


def in_language(
    records: Iterable[tuple[Path, R]], language: str, path: Path
) -> Iterator[tuple[Path, R]]:
    """Yields the records in one language, and those that are unusable for another reason.

    Args:
        records: each with its file; their `language` is '' where they name none.
        language: such as "en"; "auto" for the only one that is named.
        path: of the data, for messages.

    Raises:
        ValueError: there are several languages, or not the given one; while the records are read.
    """
    wanted, named = language.lower(), set()
    for file, record in records:
        named.add(record.language)
        if wanted == AUTO and len(named - {""}) < 2:
            yield file, record
        elif wanted == AUTO:
            named |= {other.language for _, other in records}
            raise _no_language("one language", named, path)
        elif record.reason or record.language == wanted:
            yield file, record
        elif not record.language:
            yield file, replace(record, reason=UNNAMED)
    if wanted not in (AUTO, *named):
        raise _no_language(f"the language {language!r}", named, path)


def _no_language(expected, named, path):
    received = ", ".join(sorted(named - {""})) or "no record that names its language"
    return ValueError(
        f"Expected records in {expected} in {path} (set --language). Received: {received}"
    )


def unusable(name: str, text: str) -> str:
    """Why a text cannot be used; empty if it can.

    Args:
        name: what messages call it.
        text: the text.
    """
    if len(text) > MOST_CHARACTERS:  # First, since it takes no time.
        return f"{name} of {len(text)} characters (expected at most {MOST_CHARACTERS})"
    if all(
        character in BLANKS or unicodedata.category(character) in INVISIBLE for character in text
    ):
        return f"empty {name}"
    words = len(text.split())
    if words > MOST_WORDS:
        return f"{name} of {words} words (expected at most {MOST_WORDS})"
    return ""
