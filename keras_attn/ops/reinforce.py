"""The objective of sampled choices: REINFORCE with a baseline, and entropy."""

from keras import ops

from keras_attn.ops.masks import zero_masked


def reinforce_objective(advantage, weights, choices, real, reward_weight, entropy_weight):
    """The REINFORCE loss of sampled choices, with an entropy bonus.

        −λ_r · Σ_t A_t log α_{t, s_t} − λ_e Σ_t H[α_t],  H[α] = −Σ_i α_i log α_i

    No gradient flows through the advantage A; steps without a choice (−1) have no first term.

    Args:
        advantage: float (N, T), or (N, 1) for one of all steps. Reward less baseline.
        weights: float32 (N, T, S). Probabilities α of the choices.
        choices: int32 (N, T). s, or −1.
        real: float (N, T). 1 for real steps, 0 for padding.
        reward_weight: float. λ_r.
        entropy_weight: float. λ_e.

    Returns:
        float32 (N,).

    Example:
        >>> weights = ops.array([[[0.25, 0.75]]])
        >>> loss = reinforce_objective([[2.0]], weights, [[1]], [[1.0]], 1.0, 0.0)
        >>> round(float(loss[0]), 4)  # −2 · log 0.75
        0.5754

    Source: Williams 1992; Xu et al. 2015, arXiv:1502.03044, eq. 11 to 13.
    """
    real = ops.cast(real, "float32")
    weights = zero_masked(ops.cast(weights, "float32"), real > 0)
    logarithms = ops.log(ops.maximum(weights, 1e-20))
    places = ops.arange(ops.shape(weights)[-1], dtype="int32")
    chosen = ops.cast(ops.cast(choices, "int32")[..., None] == places, "float32")
    advantage = ops.stop_gradient(ops.cast(advantage, "float32"))
    likelihood = ops.sum(advantage * ops.sum(chosen * logarithms, axis=-1) * real, axis=-1)
    entropy = -ops.sum(ops.sum(weights * logarithms, axis=-1) * real, axis=-1)
    return -reward_weight * likelihood - entropy_weight * entropy


def leave_one_out(rewards, samples):
    """The advantage of each sample over the mean of the other samples of its example.

        A_t^k = R_t^k − 1/(K−1) Σ_{j≠k} R_t^j,  R_t = Σ_{t' ≥ t} r_{t'}

    A choice is credited with what follows it: with the rewards from its own step on.

    Args:
        rewards: float (N, T). r; the samples of an example are neighbors.
        samples: int ≥ 2. K.

    Returns:
        float (N, T). A.

    Example:
        >>> advantages = leave_one_out(ops.array([[1.0, 2.0], [4.0, 0.0]]), 2)
        >>> [[float(x) for x in row] for row in advantages]
        [[-1.0, 2.0], [1.0, -2.0]]

    Source: Kool et al. 2019, "Buy 4 REINFORCE samples, get a baseline for free!".
    """
    following = ops.flip(ops.cumsum(ops.flip(rewards, axis=1), axis=1), axis=1)
    grouped = ops.reshape(following, (-1, samples, ops.shape(rewards)[1]))
    others = (ops.sum(grouped, axis=1, keepdims=True) - grouped) / (samples - 1)
    return ops.reshape(grouped - others, ops.shape(rewards))
