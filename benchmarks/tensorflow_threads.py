"""How many threads TensorFlow computes on."""

import tensorflow as tf


def set_threads(count: int) -> None:
    """Lets TensorFlow compute on so many threads; to be called before it computes anything."""
    tf.config.threading.set_intra_op_parallelism_threads(count)
    tf.config.threading.set_inter_op_parallelism_threads(count)
