"""Symmetric divergence of two softmax distributions, with a gradient in few passes."""

from keras import ops

from keras_attn.ops.multiply_no_nan import multiply_no_nan


def symmetric_divergence(logits, others):
    """Kullback–Leibler divergence of two softmax distributions, both ways, in nats.

        J(p, q) = KL(p‖q) + KL(q‖p) = Σ_v (p_v − q_v) (log p_v − log q_v)

    With d = log p − log q, the gradient by p's logits is p ∘ (d − Σ p d) + p − q. Where the
    upstream gradient is 0, as in a mean of weight 0, so is this one, even if logits are NaN.

    Args:
        logits: float32 (..., V), of p.
        others: float32 (..., V), of q.

    Returns:
        float32 (...), at least 0.

    Example:
        >>> logits, others = ops.array([[0.0, 1.0]]), ops.array([[1.0, 0.0]])
        >>> round(float(symmetric_divergence(logits, others)[0]), 4)
        0.9242

    Source: Jeffreys 1946, doi:10.1098/rspa.1946.0056.
    """

    @ops.custom_gradient
    def divergence(logits, others):
        first, second = ops.log_softmax(logits, axis=-1), ops.log_softmax(others, axis=-1)
        p, q = ops.exp(first), ops.exp(second)
        difference, apart = first - second, p - q

        def gradient(*args, upstream=None):
            upstream = (args[0] if upstream is None else upstream)[..., None]
            by_p = ops.sum(p * difference, axis=-1, keepdims=True)
            by_q = ops.sum(q * difference, axis=-1, keepdims=True)
            return (
                multiply_no_nan(p * (difference - by_p) + apart, upstream),
                multiply_no_nan(q * (by_q - difference) - apart, upstream),
            )

        return ops.sum(apart * difference, axis=-1), gradient

    return divergence(logits, others)
