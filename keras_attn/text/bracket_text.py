"""Trees as text in Penn Treebank brackets: `(NP (DT the) (NN cell))`."""

import re
from collections.abc import Iterator
from typing import NoReturn

from keras_attn.text.trees import DEEPEST, Leaf, Node, Tree

# An empty tree, (()); an opening bracket with its label, or a whole leaf; a closing bracket;
# anything else.
_TOKEN = re.compile(
    r"(\(\s*\(\s*\)\s*\))|\(\s*([^\s()]*)(?:\s+([^\s()]+)\s*\))?|\)|[^\s()]+", re.ASCII
)
_MARKED = re.compile(r"^[^\S\n]*(?:<|#|%%|\*x\*)", re.MULTILINE)
_BRACKET = re.compile(r"[()]")
# What may stand outside of trees: an opening bracket, a line of comment, an SGML element with text,
# a tag, an SGML comment.
_OUTSIDE = re.compile(
    r"\(|^[^\S\n]*(?:#|%%|\*x\*).*|<(\w+)\b[^<>\n]*>\s*[^\s<()][^<()]*</\1\s*>"
    r"|<[/!?]?[A-Za-z][^<>\n]*>|<!--.*?-->",
    re.MULTILINE,
)


def parse_trees(text: str, name: str = "text") -> Iterator[tuple[int, Node]]:
    """Yields the trees in a text: one a line, several a line, or many lines a tree.

    Only ASCII white space separates, so that a no-break or thin space stays inside its word. The
    first thing after an opening bracket is a label, then follow one word or more brackets. Only a
    tree's outermost brackets may be without a label; a constituent may be without children. `(())`,
    a sentence without a parse, is an empty tree, as `()` is.

    Args:
        text: trees, and white space around them.
        name: of the text in messages, such as its file.

    Returns:
        iterator of (line where the tree begins, from 1; the tree).

    Raises:
        ValueError: brackets that do not match, a constituent without a label, one with words and
            brackets or with several words, text outside trees, or more than DEEPEST constituents
            inside each other; each with the line, and with that where the tree begins.

    Example:
        >>> [node.label for _, node in parse_trees("(NP (NN a)) (VP (VB b))")]
        ['NP', 'VP']

    Source: Marcus et al. 1993, "Building a Large Annotated Corpus of English".
    """
    reading, line, place = _Reading(name), 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", place, match.start())
        place = match.start()
        node = reading.take(match, line)
        if node is not None:
            yield reading.begin, node
    reading.end()


def parse_tree(text: str) -> Node:
    """The one tree in a text; see `parse_trees`.

    Raises:
        ValueError: it holds none, several, or no proper one.

    Example:
        >>> parse_tree("(NP (DT the) (NN cell))").children[1]
        Leaf(tag='NN', word='cell')
    """
    trees = [node for _, node in parse_trees(text)]
    if len(trees) != 1:
        raise ValueError(f"Expected one tree. Received: {len(trees)} in {text!r:.80}")
    return trees[0]


def without_markup(text: str) -> tuple[str, int]:
    """The text without SGML and comments between trees, its lines as before; how many there were.

    Inside a tree everything is kept: `<` and `#` may be words.
    """
    if not _MARKED.search(text):
        return text, 0
    pieces, depth, place, begin, count = [], 0, 0, 0, 0
    while match := (_BRACKET if depth else _OUTSIDE).search(text, place):
        place = match.end()
        if match.group() in ("(", ")"):
            depth += 1 if match.group() == "(" else -1
            continue
        pieces += [text[begin : match.start()], "\n" * match.group().count("\n")]
        begin, count = place, count + 1
    return "".join([*pieces, text[begin:]]), count


def bracket_text(node: Node) -> str:
    """A tree in brackets on one line, which `parse_tree` reads back.

    Raises:
        ValueError: a label, tag or word that would be read as something else: empty, or with
            brackets or white space; see `escaped`.

    Example:
        >>> bracket_text(parse_tree("( (NP (DT the)\\n  (NN cell)))"))
        '( (NP (DT the) (NN cell)))'
    """
    pieces: list[str] = []
    ahead: list[Node | str] = [node]
    while ahead:
        top = ahead.pop()
        if isinstance(top, str):
            pieces.append(top)
        elif isinstance(top, Leaf):
            pieces.append(f" ({_name(top.tag)} {_name(top.word)})")
        else:
            pieces.append(f" ({_name(top.label) if top.label or pieces else ''}")
            ahead += [")", *reversed(top.children)]
    return "".join(pieces).lstrip(" ")


def _name(text):
    if not re.fullmatch(r"[^\s()]+", text, re.ASCII):
        raise ValueError(f"Expected no brackets and no white space in a name. Received: {text!r}")
    return text


class _Reading:
    """What was read of a text so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begin = 0
        self.open: list[tuple[str, list[Node]]] = []

    def take(self, match: re.Match[str], line: int) -> Node | None:
        """Takes what one match of _TOKEN holds; returns the tree that it completes, if any."""
        empty, label, word = match.groups()
        if empty and not self.open:
            self.begin = line
            return Tree("", ())
        label = "" if empty else label
        if label is None:
            return self._close(line) if match.group() == ")" else self._refuse(match.group(), line)
        if not self.open:
            self.begin = line
        elif not label:
            raise self._error("a label (is a closing bracket missing before?)", line, "'('")
        if word is not None:
            return self._done(Leaf(label, word))
        if len(self.open) == DEEPEST:
            raise self._error(f"at most {DEEPEST} constituents inside each other", line, "more")
        self.open.append((label, []))
        return None

    def end(self) -> None:
        """Checks that no tree is open at the end."""
        if self.open:
            raise ValueError(
                f"Expected a closing bracket for each opening one in the tree that begins at "
                f"{self.name}:{self.begin}. Received: the end of the text, {len(self.open)} missing"
            )

    def _close(self, line):
        if not self.open:
            after = f" after the tree that begins in line {self.begin}" if self.begin else ""
            raise ValueError(
                f"Expected an opening bracket at {self.name}:{line}. "
                f"Received: a closing bracket{after}"
            )
        label, children = self.open.pop()
        return self._done(Tree(label, tuple(children)))

    def _done(self, node):
        if not self.open:
            return node
        self.open[-1][1].append(node)
        return None

    def _refuse(self, text, line) -> NoReturn:
        if self.open:
            expected = f"brackets, or one word alone, inside ({self.open[-1][0]}"
            raise self._error(expected, line, f"{text!r:.80}")
        raise ValueError(
            f"Expected an opening bracket at {self.name}:{line}. Received: {text!r:.80}"
        )

    def _error(self, expected, line, received):
        return ValueError(
            f"Expected {expected} at {self.name}:{line}, in the tree that begins in line "
            f"{self.begin}. Received: {received}"
        )
