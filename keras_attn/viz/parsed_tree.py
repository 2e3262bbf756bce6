"""Pictures of parsed trees, and of the words that each bracket looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keras_attn.contracts import (
    ANSWER_PIECES,
    ANSWER_WEIGHTS,
    END_PIECE,
    SOURCE_PIECES,
    TAGS,
    TEXT,
)
from keras_attn.viz.labels import drawable

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle
except ImportError as error:  # pragma: no cover - it comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error

COLUMN, ROW, LEVEL = 0.5, 0.2, 0.36
"""Inches: width of a word, height of a bracket's row, height of a level of the tree."""
MOST_WORDS, MOST_CHARACTERS = 200, 24
"""Of a sentence that is drawn, and of a name in it before it is cut."""


class Constituent(NamedTuple):
    """A constituent of a tree in a row of symbols.

    Attributes:
        label: such as "NP".
        opening: place of its opening bracket among the symbols.
        closing: place of its closing bracket.
        first: its first word, from 0.
        end: the word after its last.
        parent: place among the constituents of the one around it, −1 for the outermost.
    """

    label: str
    opening: int
    closing: int
    first: int
    end: int
    parent: int


@dataclass(frozen=True)
class ParsedTree:
    """A tree, and where each of its symbols looked.

    Attributes:
        text: the tree in brackets.
        words: tuple of W strings.
        tags: tuple of W strings.
        symbols: tuple of T strings, "(NP", ")NP" and others, one for each word.
        weights: float array (T, W + 1), the last column for the sentence's end; rows sum to 1.
    """

    text: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    symbols: tuple[str, ...]
    weights: np.ndarray

    @classmethod
    def of(cls, answer, rank: int = 0) -> "ParsedTree":
        """From one answer of a parser's `explain`, as NumPy arrays.

        Args:
            answer: dict with TEXT, TAGS, SOURCE_PIECES, ANSWER_PIECES, ANSWER_WEIGHTS.
            rank: int. Which tree of it, 0 = best.
        """
        words, tags, symbols = (
            tuple(one.decode() for one in row if one)
            for row in (answer[SOURCE_PIECES], answer[TAGS], answer[ANSWER_PIECES][rank])
        )
        weights = answer[ANSWER_WEIGHTS][rank, : len(symbols), : len(words)]
        return cls(answer[TEXT][rank].decode(), words[:-1], tags, symbols, weights)

    def constituents(self) -> list[Constituent]:
        """All of them, in the order of their opening brackets."""
        found: list[Constituent] = []
        open_: list[int] = []
        word = 0
        for place, symbol in enumerate(self.symbols):
            if symbol.startswith("("):
                parent = open_[-1] if open_ else -1
                open_.append(len(found))
                found.append(Constituent(symbol[1:], place, place, word, word, parent))
            elif symbol.startswith(")"):
                closed = open_.pop()
                found[closed] = found[closed]._replace(closing=place, end=word)
            else:
                word += 1
        return found


def parsed_tree_figure(tree: ParsedTree) -> Figure:
    """The tree over its words; under it, for each constituent, where its brackets looked.

    A row of a matrix is a bracket, a column a word; dark is most looked at. The words of the
    constituent have a frame.

    Args:
        tree: `ParsedTree`.

    Returns:
        matplotlib Figure.

    Raises:
        ValueError: more than MOST_WORDS words.
    """
    if len(tree.words) > MOST_WORDS:
        raise ValueError(
            f"Expected a sentence of at most {MOST_WORDS} words for a picture. "
            f"Received: {len(tree.words)}"
        )
    found = tree.constituents()
    heights, columns = _heights(found), len(tree.words) + 1
    levels = 1.5 + max(heights, default=0)
    inches = [LEVEL * levels + 0.9, *[ROW * max(len(found), 1) + 0.35] * 2]
    figure = Figure(figsize=(COLUMN * columns + 1.6, sum(inches)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, sharex=True, height_ratios=inches)
    _draw_tree(axes[0], tree, found, heights)
    parts = (("opening", "Blues"), ("closing", "Oranges"))
    for axis, (side, colors) in zip(axes[1:], parts):
        if not found:  # A word alone.
            axis.set_axis_off()
            continue
        rows = tree.weights[[getattr(one, side) for one in found]]
        _draw_rows(axis, rows.reshape(len(found), columns), found, colors)
        axis.set_title(f"{side} brackets", fontsize=9, loc="left")
    axes[0].set_xlim(-0.5, columns - 0.5)
    return figure


def _heights(found: Sequence[Constituent]):
    """Level of each constituent: 1 over words alone, else one above its highest child."""
    heights = [1] * len(found)
    for place in reversed(range(len(found))):
        parent = found[place].parent
        if parent >= 0:
            heights[parent] = max(heights[parent], heights[place] + 1)
    return heights


def _draw_tree(axis, tree, found, heights):
    spots = {
        place: ((one.first + one.end - 1) / 2, heights[place]) for place, one in enumerate(found)
    }
    inside = {word: place for place, one in enumerate(found) for word in range(one.first, one.end)}
    name = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 2}
    name["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    for place, one in enumerate(found):
        if one.parent >= 0:
            _connect(axis, spots[place], spots[one.parent])
        axis.text(*spots[place], _name(one.label), **name, weight="bold")
    for word, tag in enumerate(tree.tags):
        if word in inside:
            _connect(axis, (word, 0), spots[inside[word]])
        axis.text(word, 0, _name(tag), **{**name, "fontsize": 8}, color="0.35")
    labels = [_name(one) for one in (*tree.words, END_PIECE)]
    axis.set_xticks(range(len(labels)), labels, rotation=60, ha="right", rotation_mode="anchor")
    axis.tick_params(labelbottom=True, length=0, labelsize=9)
    axis.set_yticks([])
    axis.set_ylim(-0.4, max(heights, default=0) + 0.5)
    axis.spines[:].set_visible(False)


def _connect(axis, child, parent):
    """A line from a child straight up, then across to its parent, so that no two cross."""
    (x, y), (over, top) = child, parent
    bend = top - 0.45
    axis.plot((x, x, over, over), (y, bend, bend, top), color="0.6", linewidth=1, zorder=1)


def _name(text):
    """A word, tag or label as it is drawn."""
    cut = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    return drawable(cut)


def _draw_rows(axis, weights, found, colors):
    axis.imshow(weights, cmap=colors, vmin=0, vmax=1, aspect="auto")
    for row, one in enumerate(found):
        frame = (one.first - 0.5, row - 0.5), one.end - one.first, 1
        axis.add_patch(Rectangle(*frame, fill=False, edgecolor="0.4", linewidth=0.7))
    axis.set_yticks(range(len(found)), [_name(one.label) for one in found])
    axis.tick_params(labelbottom=False, length=0, labelsize=8)
