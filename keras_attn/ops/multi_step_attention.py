"""Attention of a convolutional decoder layer."""

from keras import ops

from keras_attn.ops.attend import attend
from keras_attn.ops.scores import dot_score


def multi_step_attention(query, keys, values, mask=None):
    """Dot-product attention whose context keeps the variance of its values.

        c_t = m √(1/m) Σ_s softmax(d_t · z)_s v_s,  m = how many keys query t may attend to

    Args:
        query: float (B, T, E). d.
        keys: float (B, S, E). z, finite also where masked; see `zero_masked`.
        values: float (B, S, F). v.
        mask: bool, broadcastable to (B, T, S); True = attend. None is all.

    Returns:
        context: (B, T, F), dtype of the values; 0 where fully masked.
        weights: float32 (B, T, S); rows sum to 1, or are all 0 where fully masked.

    Example:
        >>> context, _ = multi_step_attention(*(ops.ones((1, size, 2)) for size in (3, 4, 4)))
        >>> ops.convert_to_numpy(context)[0, 0].tolist()
        [2.0, 2.0]

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.3 and 3.4.
    """
    context, weights = attend(dot_score(query, keys), values, mask)
    length = ops.shape(keys)[1]
    if mask is None:
        count = ops.cast(length, "float32")
    else:
        open_keys = ops.cast(mask, "float32") * ops.ones((length,))
        count = ops.sum(open_keys, axis=-1, keepdims=True)
    return context * ops.cast(ops.sqrt(count), context.dtype), weights
