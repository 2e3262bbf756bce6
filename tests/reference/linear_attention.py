"""Slow twin of linear attention, written from the paper: one pair of positions at a time."""

import math

import numpy as np

from tests.reference.attention import dot


def features(vector):
    """φ of a vector."""
    return [x + 1 if x > 0 else math.exp(x) for x in vector]


def heads(named, query, value, key, sees):
    """Weights (H, T, S) and the heads' contexts (T, H, d_v) of one example.

    Args:
        named: dict of kernels (D, H, d) and biases (H, d).
        query, value, key: (T, D), (S, F), (S, E).
        sees: function of t and s.
    """
    _, count, _ = named["query_kernel"].shape
    groups = count // named["key_kernel"].shape[1]

    def projected(name, inputs, head):
        bias = named[f"{name}_bias"][head] if f"{name}_bias" in named else 0
        return inputs @ named[f"{name}_kernel"][:, head] + bias

    weights = np.zeros((count, len(query), len(value)))
    contexts = np.zeros((len(query), count, named["value_kernel"].shape[-1]))
    for h, t in np.ndindex(count, len(query)):
        phi = features(projected("query", query[t], h))
        seen = [s for s in range(len(value)) if sees(t, s)]
        scores = {s: dot(phi, features(projected("key", key[s], h // groups))) for s in seen}
        for s, score in scores.items():
            weights[h, t, s] = score / sum(scores.values())
            contexts[t, h] += weights[h, t, s] * projected("value", value[s], h // groups)
    return weights, contexts


def attention(named, query, value, key, sees):
    """Outputs (T, O) and weights (H, T, S) of one example, with `output_kernel` (H, d_v, O)."""
    weights, contexts = heads(named, query, value, key, sees)
    outputs = np.einsum("thd,hdo->to", contexts, named["output_kernel"])
    return outputs + named.get("output_bias", 0), weights
