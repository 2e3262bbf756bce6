"""Reading a bank of learned slots."""

from keras import ops

from keras_attn.ops.attend import attention_weights


def read_bank(query, keys, values):
    """Attends to slots that all examples share.

        α_j = exp(hᵀ K_j) / Σ_{j'} exp(hᵀ K_{j'}),  c = Σ_j α_j V_j

    Args:
        query: float (..., H). h.
        keys: float (N, H). K.
        values: float (N, F). V.

    Returns:
        context: float32 (..., F).
        weights: float32 (..., N); rows sum to 1.

    Source: Asghar et al. 2020, arXiv:1811.00239, equations 1 to 3.
    """
    query, keys, values = (ops.cast(array, "float32") for array in (query, keys, values))
    weights = attention_weights(ops.matmul(query, ops.transpose(keys)))
    return ops.matmul(weights, values), weights
