"""Treebank files: Penn Treebank brackets, plain or gzip."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_attn.text.bracket_text import parse_trees
from keras_attn.text.tree_rules import RULES, Rule, normalized
from keras_attn.text.trees import Node, leaves
from pipelines.skipped import Skipped, check_share, listing

GZIP_START = b"\x1f\x8b"


@dataclass(frozen=True)
class TreeFile:
    """What was read from a file of trees.

    Attributes:
        path: of the file.
        trees: list of trees with words, in order, after the rules.
        lines: for each of them, the line where it begins, from 1.
        skipped: list of `Skipped`, the trees without words.
    """

    path: Path
    trees: list[Node]
    lines: list[int]
    skipped: list[Skipped]

    def check(self, tolerance: float) -> None:
        """Raises ValueError if more than `tolerance` (a share) of the trees were skipped."""
        check_share(self.skipped, len(self.trees) + len(self.skipped), tolerance)


def read_trees(path, rules: Sequence[Rule] = RULES) -> TreeFile:
    """Reads a file of trees in brackets.

    UTF-8, with or without byte order mark; gzip is known by its first bytes, whatever the name.

    Args:
        path: of the file.
        rules: what is taken out of each tree; see `keras_attn.text.tree_rules`.

    Returns:
        `TreeFile`.

    Raises:
        ValueError: no such file, damaged gzip, not UTF-8, brackets that are no trees (see
            `parse_trees`), or no tree with words; with the file, and the line where there is one.
    """
    path = Path(path)
    trees, lines, skipped = [], [], []
    for line, node in parse_trees(_text(path), str(path)):
        tree = normalized(node, rules)
        if tree is not None and leaves(tree):
            trees.append(tree)
            lines.append(line)
        else:
            reason = "a tree with no words but traces" if leaves(node) else "a tree without words"
            skipped.append(Skipped(path, line, reason))
    if not trees:
        found = listing(skipped) or " no tree"
        raise ValueError(f"Expected trees with words in {path}. Received:{found}")
    return TreeFile(path, trees, lines, skipped)


def _text(path):
    if not path.is_file():
        raise ValueError(f"Expected a file of trees at {path}. Received: no such file")
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if data.startswith(GZIP_START) else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"Expected a whole gzip file at {path}. Received: {error}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"Expected UTF-8 at {path}:{line}. Received: {error.reason}, byte "
            f"0x{error.object[error.start]:02x}"
        ) from error
