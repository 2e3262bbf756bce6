"""Slow twin of multi-head latent attention, written from the paper: one pair at a time."""

import math

import numpy as np

from tests.reference.transformer import turned


def normal(x, scale, epsilon):
    """RMS normalization of a vector."""
    return x / math.sqrt(sum(value**2 for value in x) / len(x) + epsilon) * scale


def attention(named, inputs, sees, epsilon=1e-6, turn=None):
    """Outputs (T, D) and weights (H, T, T) of one example.

    Args:
        named: dict of kernels (D, H, d) or (D, d), and "latent_norm" and "query_norm", the scales.
        inputs: (T, D).
        sees: function of t and s.
        epsilon: of the normalizations.
        turn: dict of arguments of `turned`, or None.
    """
    heads, key_dim = named["query_kernel"].shape[1:]
    rotary_dim, length = named["rotary_key_kernel"].shape[1], len(inputs)
    latents, rotary_keys, queries = [], [], []
    for t, x in enumerate(inputs):
        latents.append(normal(x @ named["latent_kernel"], named["latent_norm"], epsilon))
        rotary_keys.append(turned(x @ named["rotary_key_kernel"], t, turn))
        if "query_latent_kernel" in named:
            x = normal(x @ named["query_latent_kernel"], named["query_norm"], epsilon)
        queries.append(x)
    outputs, weights = np.zeros(inputs.shape), np.zeros((heads, length, length))
    for h, t in np.ndindex(heads, length):
        query = queries[t] @ named["query_kernel"][:, h]
        rotary_query = turned(queries[t] @ named["rotary_query_kernel"][:, h], t, turn)
        exponentials = {}
        for s in filter(lambda s: sees(t, s), range(length)):
            score = query @ (latents[s] @ named["key_kernel"][:, h])
            score = score + rotary_query @ rotary_keys[s]
            exponentials[s] = math.exp(score / math.sqrt(key_dim + rotary_dim))
        for s, value in exponentials.items():
            weights[h, t, s] = value / sum(exponentials.values())
            context = latents[s] @ named["value_kernel"][:, h]
            outputs[t] += weights[h, t, s] * context @ named["output_kernel"][h]
    return outputs, weights
