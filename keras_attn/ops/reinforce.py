"""The objective of sampled choices: REINFORCE with a baseline, and entropy."""

from keras import ops

from keras_attn.ops.masks import zero_masked


def reinforce_objective(advantage, weights, choices, real, reward_weight, entropy_weight):
    """The REINFORCE loss of sampled choices, with an entropy bonus.

        −λ_r · A · Σ_t log α_{t, s_t} − λ_e Σ_t H[α_t],  H[α] = −Σ_i α_i log α_i

    No gradient flows through the advantage A; steps without a choice (−1) have no first term.

    Args:
        advantage: float (N,). Reward less baseline.
        weights: float32 (N, T, S). Probabilities α of the choices.
        choices: int32 (N, T). s, or −1.
        real: float (N, T). 1 for real steps, 0 for padding.
        reward_weight: float. λ_r.
        entropy_weight: float. λ_e.

    Returns:
        float32 (N,).

    Example:
        >>> weights = ops.array([[[0.25, 0.75]]])
        >>> loss = reinforce_objective([2.0], weights, [[1]], [[1.0]], 1.0, 0.0)
        >>> round(float(loss[0]), 4)  # −2 · log 0.75
        0.5754

    Source: Williams 1992; Xu et al. 2015, arXiv:1502.03044, eq. 11 to 13.
    """
    real = ops.cast(real, "float32")
    weights = zero_masked(ops.cast(weights, "float32"), real > 0)
    logarithms = ops.log(ops.maximum(weights, 1e-20))
    places = ops.arange(ops.shape(weights)[-1], dtype="int32")
    chosen = ops.cast(ops.cast(choices, "int32")[..., None] == places, "float32")
    likelihood = ops.sum(ops.sum(chosen * logarithms, axis=-1) * real, axis=-1)
    entropy = -ops.sum(ops.sum(weights * logarithms, axis=-1) * real, axis=-1)
    advantage = ops.stop_gradient(ops.cast(advantage, "float32"))
    return -reward_weight * advantage * likelihood - entropy_weight * entropy
