"""Figures of parsed trees, and of the words that each bracket looked at."""

from collections.abc import Sequence
from typing import NamedTuple

from keras_attn.contracts import END_PIECE
from keras_attn.extras import extra
from keras_attn.viz.readable_figure import ReadableFigure, drawable

with extra("pictures"):
    from matplotlib.patches import Rectangle

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


def constituents_of(symbols: Sequence[str]) -> list[Constituent]:
    """The constituents in a row of symbols, in the order of their opening brackets.

    Raises:
        ValueError: a closing bracket without an opening one.
    """
    constituents: list[Constituent] = []
    open_: list[int] = []
    word = 0
    for place, symbol in enumerate(symbols):
        if symbol.startswith("("):
            parent = open_[-1] if open_ else -1
            open_.append(len(constituents))
            constituents.append(Constituent(symbol[1:], place, place, word, word, parent))
        elif symbol.startswith(")"):
            if not open_:
                raise ValueError(f"Expected balanced brackets. Received: {' '.join(symbols):.80}")
            closed = open_.pop()
            constituents[closed] = constituents[closed]._replace(closing=place, end=word)
        else:
            word += 1
    return constituents


def tree_figure(
    words: Sequence[str], tags: Sequence[str], symbols: Sequence[str], weights
) -> ReadableFigure:
    """The tree over its words; under it, for each constituent, where its brackets looked.

    A row of a matrix is a bracket, a column a word; dark is most looked at. The words of the
    constituent have a frame.

    Args:
        words: W strings.
        tags: W strings.
        symbols: T strings, "(NP", ")NP" and others, one for each word.
        weights: float array (T, W + 1), the last column for the sentence's end.

    Raises:
        ValueError: more than MOST_WORDS words.
    """
    if len(words) > MOST_WORDS:
        raise ValueError(
            f"Expected a sentence of at most {MOST_WORDS} words for a picture. "
            f"Received: {len(words)}"
        )
    constituents = constituents_of(symbols)
    heights, columns = _heights(constituents), len(words) + 1
    levels = 1.5 + max(heights, default=0)
    inches = [LEVEL * levels + 0.9, *[ROW * max(len(constituents), 1) + 0.35] * 2]
    figure = ReadableFigure(figsize=(COLUMN * columns + 1.6, sum(inches)), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True, height_ratios=inches)
    _draw_tree(axes[0], words, tags, constituents, heights)
    parts = (("opening", "Blues"), ("closing", "Oranges"))
    for axis, (side, colors) in zip(axes[1:], parts):
        if not constituents:  # A word alone.
            axis.set_axis_off()
            continue
        rows = weights[[getattr(constituent, side) for constituent in constituents]]
        _draw_rows(axis, rows.reshape(len(constituents), columns), constituents, colors)
        axis.set_title(f"{side} brackets", fontsize=9, loc="left")
    axes[0].set_xlim(-0.5, columns - 0.5)
    return figure


def _heights(constituents: Sequence[Constituent]):
    """Level of each constituent: 1 over words alone, else one above its highest child."""
    heights = [1] * len(constituents)
    for place in reversed(range(len(constituents))):
        parent = constituents[place].parent
        if parent >= 0:
            heights[parent] = max(heights[parent], heights[place] + 1)
    return heights


def _draw_tree(axis, words, tags, constituents, heights):
    spots = {
        place: ((constituent.first + constituent.end - 1) / 2, heights[place])
        for place, constituent in enumerate(constituents)
    }
    inside = {
        word: place
        for place, constituent in enumerate(constituents)
        for word in range(constituent.first, constituent.end)
    }
    name = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 2}
    name["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    for place, constituent in enumerate(constituents):
        if constituent.parent >= 0:
            _connect(axis, spots[place], spots[constituent.parent])
        axis.text(*spots[place], _name(constituent.label), **name, weight="bold")
    for word, tag in enumerate(tags):
        if word in inside:
            _connect(axis, (word, 0), spots[inside[word]])
        axis.text(word, 0, _name(tag), **{**name, "fontsize": 8}, color="0.35")
    labels = [_name(word) for word in (*words, END_PIECE)]
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


def _draw_rows(axis, weights, constituents, colors):
    axis.imshow(weights, cmap=colors, vmin=0, vmax=1, aspect="auto")
    for row, constituent in enumerate(constituents):
        frame = (constituent.first - 0.5, row - 0.5), constituent.end - constituent.first, 1
        axis.add_patch(Rectangle(*frame, fill=False, edgecolor="0.4", linewidth=0.7))
    axis.set_yticks(
        range(len(constituents)), [_name(constituent.label) for constituent in constituents]
    )
    axis.tick_params(labelbottom=False, length=0, labelsize=8)
