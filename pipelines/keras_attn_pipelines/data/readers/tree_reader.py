"""Files of bracketed trees in the style of the Penn Treebank."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keras_attn.text.bracket_text import parse_trees, without_markup
from keras_attn.text.tree_rules import RULES, Rule, normalized
from keras_attn.text.trees import Node, childless, leaves
from keras_attn.text_file import utf8_text
from keras_attn_pipelines.data.data_files import files_by_stem
from keras_attn_pipelines.data.record_file import ReadFile, RecordFile
from keras_attn_pipelines.data.skipped import Skipped, listing

TREE_SUFFIXES = (".mrg", ".ptb", ".tree", ".trees", ".fid")
FORM = "trees in brackets"


@dataclass(frozen=True, slots=True)
class TreePair:
    """A sentence and its tree.

    Attributes:
        source: the words, separated by spaces.
        target: the tree.
        line: first line of the tree in its file, from 1.
    """

    source: str
    target: Node
    line: int = field(default=0, compare=False)


def tree_sources(data, rules: Sequence[Rule] = RULES) -> dict[str, RecordFile]:
    """Finds files of trees: TREE_SUFFIXES, each plain or .gz.

    Args:
        data: path of a data folder, or of one file of any name.
        rules: see `read_trees`.

    Returns:
        dict from the stem of a file's name ("train") to its `RecordFile`.

    Raises:
        ValueError: nothing found, or two files with the same stem.
    """
    files = files_by_stem(data, TREE_SUFFIXES, "trees")
    return {
        stem: RecordFile(path, FORM, lambda path, _: read_trees(path, rules))
        for stem, path in files.items()
    }


def read_trees(path, rules: Sequence[Rule] = RULES) -> ReadFile[TreePair]:
    """Reads a file of trees in brackets.

    UTF-8, with or without byte order mark; gzip is recognized by its magic number. SGML, and lines
    of comment that begin with #, %% or *x*, are left out between trees, and counted in the form.

    Args:
        path: path of the file.
        rules: what to remove from each tree; see `keras_attn.text.tree_rules`.

    Returns:
        `ReadFile` of `TreePair`s; trees without words, and trees with a childless constituent, such
        as a word without a tag, are skipped.

    Raises:
        ValueError: no such file, damaged gzip, not UTF-8, brackets that do not form trees (see
            `parse_trees`), or no tree with words; with the file and, if known, the line.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"Expected a file of trees at {path}. Received: no such file")
    pairs, skipped = [], []
    text, count = without_markup(utf8_text(path))
    for line, node in parse_trees(text, str(path)):
        tree = normalized(node, rules)
        words = leaves(tree) if tree is not None else []
        if words and (empty := childless(node)):
            reason = (
                f"a constituent without children, {empty[0]!r:.40}: is a word or a tag missing?"
            )
            skipped.append(Skipped(path, line, reason))
        elif tree is not None and words:
            pairs.append(TreePair(" ".join(leaf.word for leaf in words), tree, line))
        else:
            reason = "a tree with traces only" if leaves(node) else "a tree without words"
            skipped.append(Skipped(path, line, reason))
    if not pairs:
        reasons = listing(skipped) or " no tree"
        raise ValueError(f"Expected trees with words in {path}. Received:{reasons}")
    form = f"{FORM}, without {count} tags and comments" if count else FORM
    return ReadFile(path, form, pairs, len(pairs) + len(skipped), skipped)
