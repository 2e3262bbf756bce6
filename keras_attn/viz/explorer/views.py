"""Views of the attention explorer: what one part of a page shows, as JSON."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from PIL import Image

from keras_attn.viz.panels import small

MOST_WORDS = 150
"""Words of a row up to which all of its weights are kept."""
KEPT = 20
"""Weights that are kept of a longer row, the largest."""
SIDE = 640
"""Longest side of a picture on the page, in pixels."""

LINES = 9
"""Lines in each direction of a grid that is drawn over a picture."""


class View(Protocol):
    """A part of a page."""

    def json(self) -> dict[str, Any]:
        """What explorer.js reads."""


@dataclass(frozen=True)
class TokenView:
    """Words that look at words: an alignment, self-attention, hops over a story.

    Attributes:
        name: of the view.
        rows: T strings, what looks.
        columns: S strings, what is looked at.
        weights: float array (layers, heads, T, S), 0 to 1.
        titles: of rows and columns.
        layer: what the first axis is called, such as "layer".
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    weights: np.ndarray
    titles: tuple[str, str] = ("answer", "source")
    layer: str = "layer"

    def json(self):
        """See `View`."""
        layers, heads = self.weights.shape[:2]
        wide = len(self.columns) > MOST_WORDS
        note = f"Of each row, the {KEPT} largest weights are kept." if wide else ""
        return {
            "type": "tokens",
            "name": self.name,
            "rows": list(self.rows),
            "columns": list(self.columns),
            "titles": list(self.titles),
            "layer": self.layer,
            "layers": layers,
            "heads": heads,
            "weights": packed(self.weights, KEPT if wide else None),
            "note": note,
        }


@dataclass(frozen=True)
class PictureView:
    """Words that look at places of a picture.

    Attributes:
        name: of the view.
        picture: uint8 (height, width, 3).
        steps: T strings, the words.
        weights: float array (layers, heads, T, grid height, grid width).
    """

    name: str
    picture: np.ndarray
    steps: Sequence[str]
    weights: np.ndarray

    def json(self):
        """See `View`."""
        layers, heads, steps, *grid = self.weights.shape
        return {
            "type": "picture",
            "name": self.name,
            **_picture(self.picture),
            "steps": list(self.steps),
            "grid": grid,
            "layers": layers,
            "heads": heads,
            "weights": packed(self.weights.reshape(layers, heads, steps, grid[0] * grid[1])),
        }


@dataclass(frozen=True)
class ShadedView:
    """A text, each word with one weight.

    Attributes:
        name: of the view.
        words: N strings.
        weights: float array (N,), 0 to 1.
    """

    name: str
    words: Sequence[str]
    weights: np.ndarray

    def json(self):
        """See `View`."""
        return {
            "type": "shaded",
            "name": self.name,
            "words": list(self.words),
            "weights": [round(float(weight), 4) for weight in self.weights],
        }


@dataclass(frozen=True)
class SamplingView:
    """The points of a picture that a spatial transformer reads, and the crop it makes of them.

    Attributes:
        name: of the view.
        picture: uint8 (height, width, 3).
        grid: float array (rows, columns, 2), x and y of each pixel of the crop, edges at −1 and 1.
        crop: uint8 (rows, columns, 3).
    """

    name: str
    picture: np.ndarray
    grid: np.ndarray
    crop: np.ndarray

    def json(self):
        """See `View`."""
        rows, columns = (
            np.linspace(0, size - 1, LINES).round().astype(int) for size in self.grid.shape[:2]
        )
        points = self.grid[np.ix_(rows, columns)]
        return {
            "type": "sampling",
            "name": self.name,
            **_picture(self.picture),
            "points": np.round(points.astype("float64"), 3).tolist(),
            "crop": _data_url(Image.fromarray(self.crop), "PNG"),
        }


def packed(weights, kept: int | None = None) -> dict[str, str]:
    """Weights as bytes in base64: 255 times the square root, so that small ones stay apart.

    Args:
        weights: float array (layers, heads, T, S), 0 to 1.
        kept: how many of each row are kept, the largest; None: all.

    Returns:
        dict with "values", uint8; with `kept` also "places", uint16 little-endian, of each.

    Raises:
        ValueError: weights that are not in 0..1.

    Example:
        >>> packed(np.array([[[[0.25, 0.75]]]]))
        {'values': 'gN0='}
    """
    weights = np.asarray(weights, "float32")
    if not (np.isfinite(weights).all() and weights.min(initial=0) >= -1e-3):
        raise ValueError("Expected finite weights between 0 and 1. Received: others")
    places = None
    if kept is not None:
        places = np.sort(np.argsort(-weights, axis=-1, kind="stable")[..., :kept], axis=-1)
        weights = np.take_along_axis(weights, places, axis=-1)
    values = np.round(255 * np.sqrt(np.clip(weights, 0, 1))).astype("uint8")
    encoded = {"values": base64.b64encode(values.tobytes()).decode()}
    if places is not None:
        encoded["places"] = base64.b64encode(places.astype("<u2").tobytes()).decode()
    return encoded


def _picture(pixels) -> dict[str, Any]:
    """A picture as it stands in a page, and its size."""
    image = small(pixels, SIDE)
    return {
        "picture": _data_url(image, "JPEG"),
        "width": image.width,
        "height": image.height,
    }


def _data_url(image, form):
    data = io.BytesIO()
    image.convert("RGB").save(data, form, quality=88)
    return f"data:image/{form.lower()};base64,{base64.b64encode(data.getvalue()).decode()}"
