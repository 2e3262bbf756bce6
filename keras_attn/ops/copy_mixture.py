"""A vocabulary's distribution mixed with copies of the source's tokens."""

from keras import ops

from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.log_probabilities import log_probabilities

LEAST_WEIGHT = 1e-30


def copy_mixture(logits, weights, switch, tokens):
    """Log-probabilities of generating a token or of copying it from the source.

        p(v) = (1 − g) softmax(logits)_v + g Σ_{s: token_s = v} α_s,   g = σ(switch)

    The mixture is computed only at the source's tokens, since everywhere else log p(v) =
    log softmax(logits)_v + log(1 − g).

    Args:
        logits: float (N, T, V), N = B·K rows, the K sequences of an example are neighbors.
        weights: float32 (N, T, S), α; 0 for padding.
        switch: float32 (N, T, 1), the log-odds of copying.
        tokens: int32 (B, S), ids of the source's tokens in the vocabulary.

    Returns:
        float32 (N, T, V).

    Example:
        >>> mixed = copy_mixture(
        ...     ops.zeros((1, 1, 4)), ops.array([[[0.75, 0.25]]]), ops.zeros((1, 1, 1)),
        ...     ops.array([[3, 1]]),
        ... )
        >>> [round(float(value), 4) for value in ops.exp(mixed)[0, 0]]
        [0.125, 0.25, 0.125, 0.5]

    Source: See et al. 2017, arXiv:1704.04368, 2.2.
    """
    generated = log_probabilities(logits)
    rows, steps, size = ops.shape(generated)
    tokens = ops.cast(tokens, "int32")
    examples, length = ops.shape(tokens)
    hypotheses = hypotheses_of(rows, examples)
    same = ops.equal(tokens[:, :, None], tokens[:, None, :])
    grouped = ops.reshape(ops.cast(weights, "float32"), (examples, hypotheses * steps, length))
    copied = ops.matmul(grouped, ops.cast(same, "float32"))
    copied = ops.reshape(copied, (rows, steps, length))
    earlier = ops.arange(length)[:, None] < ops.arange(length)[None, :]
    repeated = ops.any(same & earlier, axis=1)
    flat = ops.reshape(generated, (-1,))
    places = ops.repeat(tokens, hypotheses, axis=0)[:, None, :]
    repeated = ops.repeat(repeated, hypotheses, axis=0)[:, None, :]
    first = ops.reshape(ops.arange(rows * steps, dtype="int32") * size, (rows, steps, 1))
    places = ops.reshape(first + places, (-1,))
    beside = ops.reshape(ops.take(flat, places, axis=0), (rows, steps, length))
    odds = switch + ops.log(ops.maximum(copied, LEAST_WEIGHT)) - beside
    gained = ops.where(repeated, 0.0, ops.softplus(odds))
    flat = flat + ops.segment_sum(ops.reshape(gained, (-1,)), places, rows * steps * size)
    return ops.reshape(flat, (rows, steps, size)) - ops.softplus(switch)
