"""Texts between a start and an end."""

from keras_attn.contracts import END_ID, PAD_ID, START_ID
from keras_attn.lazy_tensorflow import tf


def framed(pieces, longest):
    """Texts as rows of START_ID, pieces, END_ID, then PAD_ID.

    Args:
        pieces: ragged int32 (B, pieces), as a tokenizer's `encode` returns them.
        longest: int ≥ 2. What a row holds at most; longer texts are cut before their end.

    Returns:
        int32 (B, T), T ≤ longest.

    Example:
        >>> import tensorflow as tf
        >>> framed(tf.ragged.constant([[5, 7, 11], [13]], dtype="int32"), 4).numpy().tolist()
        [[2, 5, 7, 3], [2, 13, 3, 0]]
    """
    pieces = pieces[:, : longest - 2]
    start, end = (tf.fill((pieces.nrows(tf.int32), 1), token) for token in (START_ID, END_ID))
    return tf.concat([start, pieces, end], axis=1).to_tensor(PAD_ID)
