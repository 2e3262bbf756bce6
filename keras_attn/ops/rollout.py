"""Attention rollout: the share of each input in each output of a stack of attention layers."""

from keras import ops


def attention_rollout(weights):
    """Attention rollout: the layers' attention multiplied, residual connections included.

        R = Â_N · … · Â_1,  Â_n = rows of (½ A_n + ½ I) divided by their sum

    where A_n is the mean of layer n's weights over its heads.

    Args:
        weights: N tensors float (B, H, S, S), self-attention weights by layer, first layer first;
            or one tensor (N, B, H, S, S).

    Returns:
        float32 (B, S, S); row t has the share of each input in output t; rows sum to 1.

    Raises:
        ValueError: no layers.

    Example:
        >>> uniform = ops.full((2, 3, 5, 5), 0.2)
        >>> ops.convert_to_numpy(attention_rollout([uniform]))[0, 0].round(2)
        array([0.6, 0.1, 0.1, 0.1, 0.1], dtype=float32)

    Source: Abnar and Zuidema 2020, arXiv:2005.00928, 3.
    """
    if len(weights) == 0:
        raise ValueError("Expected the weights of at least 1 layer. Received: none")
    rollout = None
    for layer in weights:
        mean = ops.mean(ops.cast(layer, "float32"), axis=1)
        mixed = 0.5 * mean + 0.5 * ops.eye(mean.shape[-1], dtype="float32")
        mixed = mixed / ops.sum(mixed, axis=-1, keepdims=True)
        rollout = mixed if rollout is None else ops.matmul(mixed, rollout)
    return rollout
