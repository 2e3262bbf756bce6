"""A run that answers inputs, with the search that is asked for."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_attn.decoding import Sampling
from keras_attn.saved.inputs import inputs_named
from keras_attn.saved.predictor import Predictor, answered_by
from keras_attn.serving.in_graph import in_graph
from keras_attn.serving.requests import Requests, joined
from keras_attn.viz.declared import DeclaredView, Note
from keras_attn_pipelines.runs.run import Run


class FunctionRequests(Requests):
    """A function from the inputs of `serving_default` to tensors by name."""

    def __init__(self, answer: Callable):
        self.answer = answer

    def _answer(self, signature, chunk):
        return _batch(self.answer, chunk)


class RunPredictor(Predictor):
    """A run's model, which answers with the weights that training kept.

    Needs Keras on TensorFlow, whatever backend the run was trained on.

    Args:
        run: `Run`.
        beam_width: int, or None for the task's.
        n_best: int ≥ 1. Answers to each input of a search.
        sampling: `Sampling` in the place of the search; its n answers are given. None: a search.

    Attributes:
        views: declared views of its answers.

    Raises:
        ValueError: as `Run.service`, or sampling of a model whose answers are not decoded.
        RuntimeError: Keras on another backend.

    Example:
        `RunPredictor(Run("runs/mine"), n_best=3).predict(["photo.jpg"])`
    """

    def __init__(
        self,
        run: Run,
        beam_width: int | None = None,
        n_best: int = 1,
        sampling: Sampling | None = None,
    ):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                "Expected Keras on TensorFlow, which answers runs of every backend: set "
                "KERAS_BACKEND=tensorflow before Keras is imported. "
                f"Received: {keras.backend.backend()}"
            )
        self.folder = run.folder
        if sampling is not None and not run.experiment().task.spec.searches:
            raise ValueError("Expected no sampling for a model whose answers need no search.")
        service = run.service(beam_width, n_best if sampling is None else 1)
        if sampling is not None:
            service.strategy, n_best = sampling, sampling.n
        self.metadata = {**service.metadata(), "n_best": n_best}
        self.views = [view for view in service.views if isinstance(view, DeclaredView)]
        self.notes = [view for view in service.views if isinstance(view, Note)]
        function, specs = service.signatures()["serving_default"]
        self.takes = inputs_named({spec.name for spec in specs})
        self._graph, self._names = in_graph(function, specs), [spec.name for spec in specs]
        self.answered = answered_by(self._graph.get_concrete_function().structured_outputs)

    def _answer(self, signature, chunk):
        return _batch(lambda **fed: self._graph(*(fed[name] for name in self._names)), chunk)


def _batch(answer: Callable, chunk: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The outputs of a function for a batch of strings by name."""
    batch = {key: tf.constant(joined(values), tf.string) for key, values in chunk.items()}
    return {key: np.asarray(value) for key, value in answer(**batch).items()}
