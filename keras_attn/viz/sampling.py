"""Pictures of where a spatial transformer read, and a film of how it learned to."""

import io

import numpy as np

from keras_attn.checks import check_sizes
from keras_attn.extras import extra
from keras_attn.viz.panels import panels
from keras_attn.viz.readable_figure import drawable

with extra("pictures"):
    from PIL import Image

LINES = 7
MARGIN = 0.6
MILLISECONDS = 300


def sampling_figure(
    images,
    grids,
    outputs,
    align_corners: bool = False,
    title: str = "",
    columns: int = 1,
    margin: float | None = None,
):
    """Each picture with the points that were read drawn over it, and what came out beside it.

    The frame is the outermost points, a quadrilateral for an affine or projective map; the thin
    lines are 7 rows and 7 columns of points at most.

    Args:
        images: array (B, H, W, C), C 1 or 3; 0 is black and 255 white, or, of floats, the least
            value of all and the greatest.
        grids: array (B, height, width, 2), points as in `keras_attn.ops.sampling_grids`.
        outputs: array (B, height, width, C), in the same shades.
        align_corners: as they were read with.
        title: over all of them.
        columns: int > 0. Pairs in a row.
        margin: float ≥ 0. How much is shown around the picture, in half sides of it; None for as
            much as is read there, 0.6 at most.

    Returns:
        matplotlib Figure.

    Raises:
        ValueError: arrays of other shapes, or not of the same pictures; columns < 1; a margin < 0.
    """
    shades = (0.0, 255.0) if np.asarray(images).dtype == np.uint8 else None
    images, grids, outputs = (np.asarray(array, "float32") for array in (images, grids, outputs))
    _check(images, grids, outputs)
    check_sizes(columns=columns)
    if margin is not None and not margin >= 0:
        raise ValueError(f"Expected a margin >= 0. Received: margin={margin}")
    height, width = images.shape[1:3]
    columns = min(columns, len(images))
    shape = (-(-len(images) // columns), 2 * columns)
    figure, axes = panels(*shape, 2.0, Image.new("L", (width, height)), drawable(title))
    pairs = axes.reshape(-1, 2)
    low, high = shades or (np.nanmin(images), np.nanmax(images))
    if margin is None:
        reach = np.abs(grids[np.isfinite(grids)]).max(initial=0.0)
        margin = float(np.clip(reach - 0.95, 0, MARGIN))
    for pair, image, grid, output in zip(pairs, images, grids, outputs):
        for axis, pixels in zip(pair, (image, output)):
            bright = np.clip((pixels - low) / (high - low or 1.0), 0, 1)
            axis.imshow(
                bright if pixels.shape[-1] == 3 else bright[..., 0], cmap="gray", vmin=0, vmax=1
            )
        for line, thickness in _lines(grid, (height, width), align_corners):
            pair[0].plot(*line.T, color="tab:orange", linewidth=thickness)
        pair[0].set_xlim(*_limits(width, margin))
        pair[0].set_ylim(*_limits(height, margin)[::-1])
    for pair in pairs[:columns]:
        pair[0].set_title("what is read", fontsize=9)
        pair[1].set_title("what comes out", fontsize=9)
    return figure


def _check(images, grids, outputs):
    fits = (
        images.ndim == grids.ndim == outputs.ndim == 4
        and len(images) == len(grids) == len(outputs) > 0
        and images.shape[-1] == outputs.shape[-1]
        and images.shape[-1] in (1, 3)
        and grids.shape[1:] == (*outputs.shape[1:3], 2)
    )
    if not fits:
        shapes = f"{images.shape}, {grids.shape} and {outputs.shape}"
        raise ValueError(
            "Expected images (B, H, W, C) with C 1 or 3, grids (B, height, width, 2) and outputs "
            f"(B, height, width, C). Received: {shapes}"
        )


def _limits(size, margin):
    return -0.5 - margin * size / 2, size - 0.5 + margin * size / 2


def _lines(grid, size, align_corners):
    """Lines of points in pixels, (N, 2), and their thickness."""
    scale = np.array(size[::-1], "float32") - (1.0 if align_corners else 0.0)
    pixels = (grid + 1) * scale / 2 - (0.0 if align_corners else 0.5)
    rows, columns = (
        np.unique(np.linspace(0, count - 1, LINES).round().astype(int)) for count in grid.shape[:2]
    )
    for place in rows:
        yield pixels[place], 2.0 if place in (0, grid.shape[0] - 1) else 0.5
    for place in columns:
        yield pixels[:, place], 2.0 if place in (0, grid.shape[1] - 1) else 0.5


def pixels(figure, dpi: float = 100.0):
    """A matplotlib Figure as uint8 (height, width, 3), with so many pixels an inch."""
    figure.set_dpi(dpi)
    figure.canvas.draw()
    return np.asarray(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB"))


def film(frames, milliseconds: int = MILLISECONDS) -> bytes:
    """An animated GIF, which starts again at its end, as bytes.

    Args:
        frames: uint8 arrays (height, width, 3) of one size, such as `pixels` makes of figures.
        milliseconds: how long each stays; the last stays 5 times as long.

    Raises:
        ValueError: no frames, or some of other sizes.
    """
    sizes = {frame.shape for frame in frames}
    if len(sizes) != 1:
        raise ValueError(f"Expected frames of one size. Received: {sorted(sizes) or 'none'}")
    pictures = [Image.fromarray(frame).quantize(64) for frame in frames]
    durations = [milliseconds] * (len(pictures) - 1) + [5 * milliseconds]
    file = io.BytesIO()
    pictures[0].save(
        file, "GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0
    )
    return file.getvalue()
