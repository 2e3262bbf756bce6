"""Slow twins of scores and attention: one pair of positions at a time."""

import math

import numpy as np


def dot(query, key):
    return sum(a * b for a, b in zip(query, key))


def scaled_dot(query, key):
    return dot(query, key) / math.sqrt(len(key))


def multiplicative(query, key, kernel):
    return sum(query[i] * kernel[i, j] * key[j] for i in range(len(query)) for j in range(len(key)))


def additive(query, key, query_kernel, key_kernel, vector):
    return sum(
        vector[a] * math.tanh(dot(query, query_kernel[:, a]) + dot(key, key_kernel[:, a]))
        for a in range(len(vector))
    )


def attend(score, query, keys, values, mask=None):
    """context (B, T, F) and weights (B, T, S) in float64, score a function of two vectors."""
    batch, length, size = query.shape[0], query.shape[1], keys.shape[1]
    weights = np.zeros((batch, length, size))
    context = np.zeros((batch, length, values.shape[-1]))
    for b in range(batch):
        for t in range(length):
            open_keys = [s for s in range(size) if mask is None or mask[b, t, s]]
            scores = {s: score(query[b, t], keys[b, s]) for s in open_keys}
            total = sum(math.exp(value) for value in scores.values())
            for s, value in scores.items():
                weights[b, t, s] = math.exp(value) / total
                context[b, t] += weights[b, t, s] * values[b, s]
    return context, weights
