"""Pictures of answers that a training draws for TensorBoard."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.contracts import ERROR
from keras_attn.decoding import Greedy
from keras_attn.escaping import escape_terminal
from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.saved.inputs import in_words
from keras_attn.saved.results import best_of
from keras_attn.serving import GenerationService, Service
from keras_attn.serving.in_graph import in_graph
from keras_attn.serving.readers.pictures import PictureReader, with_max_pixels
from keras_attn.serving.requests import joined
from keras_attn.training.callbacks import AttentionImages
from keras_attn.viz.panels import figure_pixels

SIZE = (900, 900)
"""Height and width of a picture in pixels."""
EXPLAIN = "explain"


def answer_pictures(
    service: Service, requests: Sequence[Mapping[str, Any]], folder
) -> list[AttentionImages]:
    """The callback that draws a service's first view of a few answers after each epoch.

    Answers are decoded greedily. A request that the service cannot read has no picture. Once an
    answer cannot be drawn, there are no more pictures, and a line says why: a training goes on.

    Args:
        service: the model as a service, which is from then on decoded greedily. Without a view of
            `explain` there is no callback.
        requests: dicts of the inputs of `explain`.
        folder: the run directory.
    """
    views = [view for view in service.views if view.signature == EXPLAIN]
    if not views or not requests:
        return []
    if isinstance(service, GenerationService):
        service.strategy = Greedy()
    if isinstance(getattr(service, "reader", None), PictureReader):
        with_max_pixels(service, MOST_PIXELS)
    none = np.zeros((0, *SIZE, 3), "uint8")

    @functools.cache
    def prepared():
        function, specs = service.signatures()[EXPLAIN]
        rows = ([request[spec.name] for request in requests] for spec in specs)
        return in_graph(function), [tf.constant(joined(row)) for row in rows], service.metadata()

    def figures():
        explain, columns, metadata = prepared()
        answer = {key: np.asarray(value) for key, value in explain(*columns).items()}
        for row, request in enumerate(requests):
            if not answer[ERROR][row]:
                own = {key: value[row] for key, value in answer.items()}
                view = views[0].read(own, in_words(request, metadata))
                yield figure_pixels(view.figure(best_of(own)[1]), size=SIZE)

    def draw():
        if not views:
            return none
        try:
            pictures = [*figures()]
        except Exception as error:  # Of a task of one's own, anything.
            print(escape_terminal(f"no more pictures of answers: {error!r}"), flush=True)
            views.clear()
            return none
        return np.stack(pictures) if pictures else none

    return [AttentionImages(draw, picture_log(folder))]


def picture_log(folder: Path) -> Path:
    """TensorBoard's folder for pictures, in a run directory."""
    return Path(folder) / "tensorboard" / "attention"
