"""Pictures of what every head of a Transformer attends to."""

from collections.abc import Sequence

import numpy as np

from keras_attn.extras import extra
from keras_attn.viz.readable_figure import ReadableFigure, drawable

with extra("pictures"):
    from matplotlib import colormaps
    from matplotlib.lines import Line2D

MOST_LABELS = 24
"""Maximum number of words labeled beside a small matrix."""
MOST_COLORS = 20
FAINT = 0.04
"""Lines of lower weight are not drawn."""


def heads_figure(
    weights, queries: Sequence[str], keys: Sequence[str], title: str = ""
) -> ReadableFigure:
    """A small matrix for each layer and head: rows are queries, columns are keys, dark is the
    largest weight of all.

    Args:
        weights: float (N, H, T, S), attention weights by layer and head.
        queries: T words or pieces.
        keys: S words or pieces.
        title: what is shown, above all.

    Returns:
        matplotlib Figure.

    Raises:
        ValueError: words and weights do not fit.
    """
    weights = _checked(weights, 4, queries, keys)
    layers, heads = weights.shape[:2]
    labeled = max(len(queries), len(keys)) <= MOST_LABELS
    side = 0.6 + 0.16 * min(max(len(queries), len(keys)), MOST_LABELS)
    rim = 0.11 * max(map(len, (*queries, *keys)), default=0) if labeled else 0.2
    figure = _figure(heads * side + rim + 0.5, layers * side * len(queries) / len(keys) + rim + 0.9)
    axes = figure.subplots(layers, heads, squeeze=False)
    largest = float(weights.max()) or 1.0
    for layer, head in np.ndindex(layers, heads):
        axis = axes[layer, head]
        axis.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=largest, aspect="auto")
        left, last = labeled and head == 0, labeled and layer == layers - 1
        _label(axis, queries if left else (), keys if last else ())
        if layer == 0:
            axis.set_title(f"head {head + 1}", fontsize=9)
        if head == 0:
            axis.set_ylabel(f"layer {layer + 1}", fontsize=9)
    figure.suptitle(drawable(title), fontsize=11, wrap=True)
    return figure


def words_figure(
    weights, words: Sequence[str], looking: Sequence[int], title: str = ""
) -> ReadableFigure:
    """Lines from chosen words to the words that they attend to, one color a head.

    The words stand twice: above those that look, below those that are looked at. A line is as
    opaque as its weight; so are the colored fields above a word that is looked at, head by head.

    Args:
        weights: float (H, S, S), self-attention weights of one layer.
        words: S words or pieces.
        looking: places of the words whose lines are drawn.
        title: what is shown, above all.

    Returns:
        matplotlib Figure.

    Raises:
        ValueError: words and weights do not fit, or a place is none.

    Source: the pictures of Vaswani et al. 2017, arXiv:1706.03762, figures 3 to 5.
    """
    weights = _checked(weights, 3, words, words)
    if not looking or not all(0 <= place < len(words) for place in looking):
        raise ValueError(f"Expected places in 0..{len(words) - 1}. Received: {list(looking)}")
    table = "tab10" if len(weights) <= 10 else "tab20"
    colors = colormaps[table](np.arange(len(weights)) % MOST_COLORS)
    rim = 0.1 * max(map(len, words))
    figure = _figure(0.42 * len(words) + 1.6, 2.4 + 2 * rim)
    axis = figure.subplots()
    axis.set(xlim=(-0.7, len(words) - 0.3), ylim=(-0.12, 1.12))
    axis.set_axis_off()
    for place, word in enumerate(words):
        chosen = {"weight": "bold"} if place in looking else {"color": "0.45"}
        upright = {"rotation": 90, "ha": "center", "fontsize": 11}
        axis.text(place, 1.13, drawable(word), va="bottom", **upright, **chosen)
        axis.text(place, -0.13, drawable(word), va="top", **upright)
    for place in looking:
        _draw_lines(axis, weights[:, place], place, colors)
    handles = [Line2D([], [], color=color, linewidth=4) for color in colors[:MOST_COLORS]]
    names = [f"head {head + 1}" for head in range(len(handles))]
    figure.legend(handles, names, loc="outside right center", fontsize=8, frameon=False)
    figure.suptitle(drawable(title), fontsize=11)
    return figure


def _draw_lines(axis, weights, place, colors):
    """What one word attends to: (H, S)."""
    width = 0.8 / len(weights)
    for head, (row, color) in enumerate(zip(weights, colors)):
        left = -0.4 + head * width
        axis.bar(place + left, 0.08, width, bottom=1.02, align="edge", color=color)
        for key in np.flatnonzero(row > FAINT):
            alpha = float(min(row[key], 1.0))
            axis.plot((place, key), (1.0, 0.0), color=color, alpha=alpha, linewidth=2)
            axis.bar(key + left, 0.08, width, bottom=-0.1, align="edge", color=color, alpha=alpha)


def _checked(weights, axes, queries, keys):
    """The weights as an array; ValueError unless there is a word for each row and column."""
    weights = np.asarray(weights, "float32")
    fits = weights.ndim == axes and weights.shape[-2:] == (len(queries), len(keys))
    if not fits or 0 in weights.shape:
        raise ValueError(
            f"Expected weights of {axes} axes for {len(queries)} queries and {len(keys)} keys. "
            f"Received: weights of shape {weights.shape}"
        )
    return weights


def _label(axis, queries, keys):
    axis.set_xticks(range(len(keys)), [drawable(key) for key in keys])
    axis.set_yticks(range(len(queries)), [drawable(query) for query in queries])
    axis.tick_params(axis="x", labelrotation=90)
    axis.tick_params(length=0, labelsize=7)


def _figure(width, height):
    return ReadableFigure(figsize=(width, height), layout="constrained")
