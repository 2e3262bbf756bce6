"""Links of a sentence pair as a matrix of characters."""

from collections.abc import Sequence
from unicodedata import east_asian_width

LINK, NONE = "■", "·"


def link_matrix(
    source: Sequence[str], target: Sequence[str], links: Sequence[tuple[int, int]]
) -> str:
    """A row for each target word and a column for each source word, which is written downwards.

    Args:
        source: S words.
        target: T words.
        links: (source word, target word) from 0.

    Example:
        >>> print(link_matrix(["the", "house"], ["das", "Haus"], [(0, 0), (1, 1)]))
               h
               o
             t u
             h s
             e e
        das  ■ ·
        Haus · ■
    """
    linked, label = set(links), max(map(_columns, target), default=0)
    height = max(map(len, source), default=0)
    upright = zip(*(word.rjust(height) for word in source))
    rows = [f"{' ' * label} {''.join(_padded(sign, 2) for sign in line)}" for line in upright]
    for place, word in enumerate(target):
        signs = (LINK if (other, place) in linked else NONE for other in range(len(source)))
        rows.append(f"{_padded(word, label)} {' '.join(signs)}")
    return "\n".join(row.rstrip() for row in rows)


def _columns(text):
    """Columns of a terminal that a text takes."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _padded(text, columns):
    return text + " " * (columns - _columns(text))
