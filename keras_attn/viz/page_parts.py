"""Parts of the explorer's page, as explorer.js reads them."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

MOST_WORDS = 150
"""Words of a row up to which all of its weights are kept."""
KEPT = 20
"""Weights that are kept of a longer row, the largest."""
SIDE = 640
"""Longest side of a picture on the page, in pixels."""


def token_part(
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
    weights: np.ndarray,
    titles: tuple[str, str],
) -> dict[str, Any]:
    """Words that look at words.

    Args:
        name: of the part.
        rows: T strings, what looks.
        columns: S strings, what is looked at.
        weights: float array (layers, heads, T, S), 0 to 1.
        titles: of rows and columns.
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
        "weights": packed(weights, KEPT if wide else None),
        "note": f"Of each row, the {KEPT} largest weights are kept." if wide else "",
    }


def picture_part(pixels) -> dict[str, Any]:
    """A picture, and its size.

    Args:
        pixels: uint8 (height, width, 3).
    """
    from keras_attn.viz.panels import small

    image = small(pixels, SIDE)
    return {"picture": data_url(image, "JPEG"), "width": image.width, "height": image.height}


def packed(weights, per_row: int | None = None) -> dict[str, str]:
    """Weights as bytes in base64: 255 times the square root, so that small ones stay apart.

    Args:
        weights: float array (layers, heads, T, S), 0 to 1; what is above 1 counts as 1.
        per_row: how many of each row are kept, the largest; None: all.

    Returns:
        dict with "values", uint8; with `per_row` also "places", uint16 little-endian, of each.

    Raises:
        ValueError: weights below 0, or that are not finite.

    Example:
        >>> packed(np.array([[[[0.25, 0.75]]]]))
        {'values': 'gN0='}
    """
    weights = np.asarray(weights, "float32")
    if not (np.isfinite(weights).all() and weights.min(initial=0) >= -1e-3):
        raise ValueError("Expected finite weights between 0 and 1. Received: others")
    places = None
    if per_row is not None:
        places = np.sort(np.argsort(-weights, axis=-1, kind="stable")[..., :per_row], axis=-1)
        weights = np.take_along_axis(weights, places, axis=-1)
    values = np.round(255 * np.sqrt(np.clip(weights, 0, 1))).astype("uint8")
    encoded = {"values": base64.b64encode(values.tobytes()).decode()}
    if places is not None:
        encoded["places"] = base64.b64encode(places.astype("<u2").tobytes()).decode()
    return encoded


def data_url(image: Any, form: str) -> str:
    """A picture as an address that holds it."""
    data = io.BytesIO()
    image.convert("RGB").save(data, form, quality=88)
    return f"data:image/{form.lower()};base64,{base64.b64encode(data.getvalue()).decode()}"
