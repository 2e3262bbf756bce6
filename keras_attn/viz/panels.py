"""Figures of many small pictures."""

import numpy as np

from keras_attn.extras import extra
from keras_attn.viz.readable_figure import ReadableFigure

with extra("pictures"):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image


MOST_ASPECT = 4


def small(picture, pixels: int):
    """The picture as a PIL Image of at most `pixels` a side.

    Very wide and very tall ones are squashed to an aspect ratio of MOST_ASPECT.

    Args:
        picture: uint8 (height, width, 3).
        pixels: int.
    """
    image = Image.fromarray(picture)
    image.thumbnail((pixels, pixels))
    least = -(-max(image.size) // MOST_ASPECT)
    return image.resize([max(side, least) for side in image.size])


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
