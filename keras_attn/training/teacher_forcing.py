"""Teacher forcing: a decoder reads the target up to each token that it has to predict."""

from typing import Any, NamedTuple

from keras_attn.contracts import END_ID, PAD_ID, START_ID
from keras_attn.lazy_tensorflow import tf


class TeacherForcing(NamedTuple):
    """What a decoder is trained with.

    Attributes:
        tokens: int32 (..., T), its input TOKENS: START_ID, then the targets without END_ID.
        targets: int32 (..., T), PAD_ID after END_ID.
        weights: float32 (..., T), 1 for each target, 0 for padding: the `sample_weight` of `fit`.
    """

    tokens: Any
    targets: Any
    weights: Any


def teacher_forcing(targets) -> TeacherForcing:
    """Decoder inputs, padded targets and their weights, for a function that `tf.data` maps.

    Args:
        targets: int32 (..., T), END_ID last, then PAD_ID, see `append_end`.

    Example:
        >>> tokens, targets, weights = teacher_forcing([[5, 7, 3], [11, 3, 0]])
        >>> tokens.numpy().tolist(), weights.numpy().tolist()
        ([[2, 5, 7], [2, 11, 0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    """
    targets = tf.convert_to_tensor(targets, tf.int32)
    tokens = tf.concat([tf.fill(tf.shape(targets[..., :1]), START_ID), targets[..., :-1]], axis=-1)
    return TeacherForcing(
        tf.where(targets == PAD_ID, PAD_ID, tokens), targets, target_weights(targets)
    )


def target_weights(targets):
    """float32 weights of targets: 0 for PAD_ID, 1 otherwise."""
    return tf.cast(targets != PAD_ID, tf.float32)


def append_end(tokens: "tf.RaggedTensor") -> "tf.RaggedTensor":
    """Ragged int32 (B, T), as `Tokenizer.encode` returns them, with END_ID after each row.

    Example:
        >>> tokens = tf.RaggedTensor.from_row_lengths([5, 7, 11], [2, 1])
        >>> append_end(tokens).to_tensor().numpy().tolist()
        [[5, 7, 3], [11, 3, 0]]
    """
    return tf.concat([tokens, tf.fill((tokens.nrows(tf.int32), 1), END_ID)], axis=1)
