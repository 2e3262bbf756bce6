"""A SavedModel in a session of its own, which answers sooner than `tf.saved_model.load`."""

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attn.extras import extra
from keras_attn.lazy_tensorflow import tf
from keras_attn.native_log import hidden_native_log
from keras_attn.saved.signatures import public

with extra("text"):
    import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)
    from tensorflow.core.protobuf import config_pb2, meta_graph_pb2


class SavedSession:
    """A SavedModel whose signatures are asked in a session.

    `tf.saved_model.load` builds Python objects for every node of every signature, and TensorFlow's
    optimizer, Grappler, rewrites the graph at the first call of each. A session needs neither; the
    answers are the same, and come about as fast.

    Args:
        folder: path of the version.

    Attributes:
        signatures: dict from name to `SignatureDef`.
    """

    def __init__(self, folder):
        graph = tf.Graph()
        self._session = tf.compat.v1.Session(graph=graph, config=session_config())
        with graph.as_default(), _quiet(), hidden_native_log():
            meta = tf.compat.v1.saved_model.load(
                self._session, [tf.saved_model.SERVING], str(folder)
            )
        self._asked: set[str] = set()
        self.signatures: dict[str, meta_graph_pb2.SignatureDef] = public(meta.signature_def)

    def run(self, signature: str, columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The outputs of a signature, by name.

        Args:
            signature: its name.
            columns: dict of all its inputs, arrays (B, ...) of bytes as objects.

        Raises:
            ValueError: an array of another shape.
            tf.errors.OpError: what the graph itself refuses.
        """
        definition = self.signatures[signature]
        fetches = {key: info.name for key, info in definition.outputs.items()}
        feeds = {definition.inputs[key].name: values for key, values in columns.items()}
        is_first, self._asked = signature not in self._asked, {*self._asked, signature}
        # SentencePiece writes a line when a graph first makes its tokenizer.
        with hidden_native_log() if is_first else contextlib.nullcontext():
            return self._session.run(fetches, feeds)


def session_config() -> config_pb2.ConfigProto:
    """A session without Grappler, with the threads and devices that TensorFlow has been given."""
    config = tf.compat.v1.ConfigProto(
        allow_soft_placement=True,
        intra_op_parallelism_threads=tf.config.threading.get_intra_op_parallelism_threads(),
        inter_op_parallelism_threads=tf.config.threading.get_inter_op_parallelism_threads(),
    )
    config.gpu_options.allow_growth = True
    options = config.graph_options
    options.rewrite_options.disable_meta_optimizer = True
    options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    return config


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
