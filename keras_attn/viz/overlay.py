"""Pictures lit up where attention went."""

import numpy as np

try:
    from PIL import Image
except ImportError as error:  # pragma: no cover - it comes with the extra
    raise ImportError("Expected pillow. Install it: pip install 'keras-attn[pictures]'") from error


def overlay(image, weights):
    """The picture darkened where nothing looked, tinted warm where something did.

    Args:
        image: PIL Image, RGB.
        weights: float array (grid height, grid width); upsampled smoothly, its largest is bright.

    Returns:
        float32 (height, width, 3) in 0..1.
    """
    scale = float(weights.max()) or 1.0
    grid = Image.fromarray((weights / scale).astype("float32"))
    field = np.clip(np.asarray(grid.resize(image.size, Image.Resampling.BICUBIC)), 0, 1)[..., None]
    pixels = np.asarray(image, "float32") / 255
    gray = pixels.mean(axis=-1, keepdims=True) * 0.35
    warm = np.array([1.0, 0.85, 0.55], "float32")
    return np.clip(gray * (1 - field) + (0.75 * pixels + 0.25 * warm) * field, 0, 1)
