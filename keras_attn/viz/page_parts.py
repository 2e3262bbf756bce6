"""Parts of the explorer's page, as explorer.js reads them."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_attn.viz.quantity import ATTENTION, Quantity

MOST_WORDS = 150
"""Words of a row up to which all of its weights are kept."""
KEPT = 20
"""Weights that are kept of a longer row, the largest."""
SIDE = 1000
"""Longest side of a picture on the page, in pixels."""


def token_part(
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    weights: np.ndarray,
    titles: tuple[str, str],
    quantity: Quantity = ATTENTION,
) -> dict[str, Any]:
    """Words that look at words.

    Args:
        name: of the part.
        rows: T strings, what looks.
        columns: S strings, what is looked at.
        weights: float array (layers, heads, T, S).
        titles: of rows and columns.
        quantity: what the weights are.
    """
    layers, heads = weights.shape[:2]
    wide = len(columns) > MOST_WORDS
    return {
        "type": "tokens",
        "name": name,
        "rows": list(rows),
        "columns": list(columns),
        "titles": list(titles),
        "layers": layers,
        "heads": heads,
        **quantity_part(quantity),
        "weights": packed(weights, KEPT if wide else None, quantity.signed),
        "note": f"Of each row, the {KEPT} largest weights are kept." if wide else "",
    }


def quantity_part(quantity: Quantity) -> dict[str, Any]:
    """What the numbers of a part are."""
    return {"unit": quantity.unit, "meaning": quantity.meaning, "signed": quantity.signed}


def picture_part(pixels) -> dict[str, Any]:
    """A picture, and its size.

    Args:
        pixels: uint8 (height, width, 3).
    """
    from keras_attn.viz.thumbnail import small

    image = small(pixels, SIDE)
    return {"picture": data_url(image, "JPEG"), "width": image.width, "height": image.height}


def packed(weights, per_row: int | None = None, signed: bool = False) -> dict[str, Any]:
    """Weights as bytes in base64: 255 times the square root of each weight's share of the largest,
    so that small ones stay apart.

    Args:
        weights: float array (layers, heads, T, S).
        per_row: how many of each row are kept, the largest; None: all.
        signed: whether weights may be below 0.

    Returns:
        dict with "values", uint8, and "largest", the largest absolute weight, at least 1; if
        signed also "negative", uint8, 1 for a weight below 0; with `per_row` also "places",
        uint16 little-endian, of each.

    Raises:
        ValueError: weights that are not finite, or below 0.

    Example:
        >>> packed(np.array([[[[0.25, 0.75]]]]))
        {'largest': 1.0, 'values': 'gN0='}
    """
    weights = np.asarray(weights, "float32")
    if not (np.isfinite(weights).all() and (signed or weights.min(initial=0) >= -1e-3)):
        raise ValueError("Expected finite weights that are not negative. Received: others")
    places = None
    if per_row is not None:
        places = np.argsort(-np.abs(weights), axis=-1, kind="stable")[..., :per_row]
        places = np.sort(places, axis=-1)
        weights = np.take_along_axis(weights, places, axis=-1)
    largest = max(float(np.abs(weights).max(initial=0)), 1.0)
    values = np.round(255 * np.sqrt(np.abs(weights) / largest)).astype("uint8")
    encoded = {"largest": largest, "values": in_base64(values)}
    if signed:
        encoded["negative"] = in_base64((weights < 0).astype("uint8"))
    if places is not None:
        encoded["places"] = in_base64(places.astype("<u2"))
    return encoded


def in_base64(array) -> str:
    """The bytes of an array."""
    return base64.b64encode(array.tobytes()).decode()


def data_url(image: Any, form: str) -> str:
    """A picture as an address that holds it."""
    data = io.BytesIO()
    image.convert("RGB").save(data, form, quality=88)
    return f"data:image/{form.lower()};base64,{base64.b64encode(data.getvalue()).decode()}"
