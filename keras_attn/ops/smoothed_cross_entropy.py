"""Cross-entropy with label smoothing, and a gradient that takes few passes over the logits."""

from keras import ops

from keras_attn.ops.greatest import greatest
from keras_attn.ops.multiply_no_nan import multiply_no_nan


def smoothed_cross_entropy(labels, logits, smoothing=0.0):
    """Cross-entropy between smoothed labels and a softmax, in nats.

        loss = −(1 − ε) · log p(label) − ε/V · Σ_v log p(v)
             = logsumexp(z) − (1 − ε) · z_label − ε · mean(z)

    Its gradient p − (1 − ε) · onehot − ε/V is made in place from the exponentials of the forward
    pass. With a vocabulary of thousands the passes over the logits cost as much as their matrix
    product, so their number decides.

    Where the upstream gradient is 0, as for a loss of weight 0, so is that of the logits, even if
    they are NaN or infinite.

    Args:
        labels: int (...), 0 to V − 1.
        logits: float32 (..., V).
        smoothing: probability ε, 0 ≤ ε < 1.

    Returns:
        float32 (...).

    Example:
        >>> loss = smoothed_cross_entropy(ops.array([1]), ops.array([[0.0, 1.0, 0.0]]), 0.3)
        >>> round(float(loss[0]), 4)
        0.7514

    Source: Szegedy et al. 2016, arXiv:1512.00567, 7.
    """
    size = logits.shape[-1]
    shape = tuple(ops.shape(logits))[:-1]
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))

    @ops.custom_gradient
    def losses(logits):
        largest = greatest(logits, float("-inf"), keepdims=True)
        exponentials = ops.exp(logits - largest)
        total = ops.sum(exponentials, axis=-1)
        chosen = ops.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        loss = ops.log(total) + (1 - smoothing) * (largest[:, 0] - chosen)
        if smoothing:
            loss = loss + smoothing * (largest[:, 0] - ops.mean(logits, axis=-1))

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            slope = multiply_no_nan(exponentials, multiply_no_nan(1 / total, upstream)[:, None])
            if smoothing:
                slope = slope - (upstream * (smoothing / size))[:, None]
            rows = ops.arange(ops.shape(labels)[0], dtype="int32")
            right = ops.exp(chosen - largest[:, 0]) / total - (1 - smoothing) - smoothing / size
            places = ops.stack([rows, labels], axis=-1)
            return ops.scatter_update(slope, places, multiply_no_nan(right, upstream))

        return loss, gradient

    return ops.reshape(losses(ops.reshape(logits, (-1, size))), shape)
