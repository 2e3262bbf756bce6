"""Figures of many small pictures."""

import numpy as np

from keras_attn.extras import extra
from keras_attn.viz.readable_figure import ReadableFigure

with extra("pictures"):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image


def panels(rows: int, columns: int, width: float, image, title: str = ""):
    """A figure of rows × columns pictures, without ticks or frames.

    Args:
        rows: int.
        columns: int.
        width: float. Of each, in inches.
        image: PIL Image, whose aspect ratio they have.
        title: over all of them.

    Returns:
        matplotlib Figure, and its axes, array (rows, columns).
    """
    height = width * image.height / image.width
    size = (columns * width, rows * height + (0.7 if title else 0.3))
    figure = ReadableFigure(figsize=size, layout="constrained")
    if title:
        figure.suptitle(title, fontsize=11, wrap=True)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.ravel():
        axis.set(xticks=[], yticks=[], frame_on=False)
    return figure, axes


def figure_pixels(figure, size: tuple[int, int]):
    """The figure as uint8 (height, width, 3), on white, scaled to fit into `size`."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture.thumbnail((size[1], size[0]))
    sheet = Image.new("RGB", (size[1], size[0]), "white")
    sheet.paste(picture, ((size[1] - picture.width) // 2, (size[0] - picture.height) // 2))
    return np.asarray(sheet)
