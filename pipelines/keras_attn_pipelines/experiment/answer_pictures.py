"""Pictures of answers that a training draws for TensorBoard."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import ERROR
from keras_attn.serving.in_graph import in_graph
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.attention import figure_pixels

SIZE = (600, 600)


def picture_log(folder: Path) -> Path:
    """TensorBoard's folder for pictures, in a run directory."""
    return Path(folder) / "tensorboard" / "attention"


def answer_pictures(
    explain: Callable[..., Mapping[str, Any]],
    inputs: Sequence[Sequence[Any]],
    figure: Callable[[dict[str, Any], int], Any],
    folder,
    size: tuple[int, int] = SIZE,
) -> AttentionImages:
    """The callback that draws a service's answers to a few inputs after each epoch.

    An input that the service cannot read has no picture.

    Args:
        explain: function of tensors to a dict of tensors, such as a service's `explain`.
        inputs: for each argument of `explain` a list of strings, one for each picture.
        figure: function of one answer, NumPy arrays by name, and of its row, to a Figure.
        folder: the run directory.
        size: height and width of a picture in pixels.
    """
    called = in_graph(explain)
    columns = [tf.constant(column) for column in inputs]

    def draw():
        answer = {key: np.asarray(value) for key, value in called(*columns).items()}
        rows = [{key: value[row] for key, value in answer.items()} for row in range(len(inputs[0]))]
        figures = [figure(row, place) for place, row in enumerate(rows) if not row.get(ERROR)]
        pixels = [figure_pixels(each, size=size) for each in figures]
        return np.stack(pixels) if pixels else np.zeros((0, *size, 3), "uint8")

    return AttentionImages(draw, picture_log(folder))
