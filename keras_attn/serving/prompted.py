"""Answers that begin with a prompt."""

from keras_attn.contracts import PAD_ID, START_ID, TOKENS, WEIGHTS
from keras_attn.lazy_tensorflow import tf


def repeated(prompt, rows):
    """The ids of a prompt as a prefix int32 (B, P) of `rows` answers; None without a prompt."""
    return tf.tile(tf.constant([prompt], tf.int32), (rows, 1)) if prompt else None


def with_prompt_weights(result, prefix, model, context):
    """A search's result with the attention by which the model would have said the prompt.

    A search keeps no weights of what it is given, so they come from a pass over the prompt.

    Args:
        result: `DecodeResult` with weights float32 (B, n, P + T, S).
        prefix: int32 (B, P).
        model: returns WEIGHTS float32 (B, P, S) for a dict with TOKENS.
        context: dict of the requests' features.
    """
    starts, count = tf.fill((tf.shape(prefix)[0], 1), START_ID), prefix.shape[1]
    tokens = tf.concat([starts, prefix[:, :-1]], axis=1)
    given = model({**context, TOKENS: tokens}, training=False)[WEIGHTS][:, None]
    is_there = (result.tokens[:, :, :count] != PAD_ID)[..., None]
    weights = tf.concat([tf.where(is_there, given, 0.0), result.weights[:, :, count:]], axis=2)
    return result._replace(weights=weights)
