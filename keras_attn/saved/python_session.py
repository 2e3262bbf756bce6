"""SavedModels in a session of TensorFlow's Python, where its C interface cannot be had."""

import contextlib
import logging
from collections.abc import Mapping, Sequence

import numpy as np

from keras_attn.extras import extra
from keras_attn.lazy_tensorflow import tf
from keras_attn.saved.c_session import c_error
from keras_attn.saved.signatures import damaged


class PythonSession:
    """What `CSession` is, for the same model; see there for arguments and errors.

    Raises:
        ValueError: a SavedModel that cannot be loaded.
    """

    def __init__(self, version, config: bytes = b""):
        with extra("text"):
            import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)
        options = tf.compat.v1.ConfigProto.FromString(config)
        graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=graph, config=options)
        with graph.as_default(), _quiet(), whole_saved_model(version):
            tf.compat.v1.saved_model.load(self._session, [tf.saved_model.SERVING], str(version))

    def close(self) -> None:
        """Frees the model."""
        self._session.close()

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """The values of tensors."""
        with _c_errors():
            return self._session.run(list(fetches), dict(feeds))


@contextlib.contextmanager
def whole_saved_model(folder):
    """Context in which TensorFlow's Python reads a SavedModel from `folder`.

    Raises:
        ValueError: in place of its errors for damaged files.
    """
    try:
        yield
    except (IndexError, OSError, RuntimeError, ValueError, tf.errors.OpError) as error:
        raise damaged(folder, error) from error


@contextlib.contextmanager
def _c_errors():
    """Context whose errors of TensorFlow are `CError`s."""
    try:
        yield
    except tf.errors.OpError as error:
        raise c_error(error.error_code, error.message) from error


@contextlib.contextmanager
def _quiet():
    """Context without TensorFlow's advice to use `tf.saved_model.load`."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
