"""Slow twin of differential attention: one pair of positions and one head at a time."""

import math

import numpy as np


def scale(named, initial):
    """λ, from the arrays of a layer's weights by name."""
    products = [
        sum(q * k for q, k in zip(*pair))
        for pair in zip(named["lambda_queries"], named["lambda_keys"])
    ]
    return math.exp(products[0]) - math.exp(products[1]) + initial


def differential(named, queries, values, sees, keys, initial, epsilon):
    """outputs, one a query, and weights (H, T, S); `sees(t, s)` says whether t may look at s."""
    _, heads, width = named["query_kernel"].shape
    half, weights = width // 2, np.zeros((heads, len(queries), len(keys)))
    outputs = []

    def projected(name, x, head):
        kernel, bias = named[f"{name}_kernel"], named[f"{name}_bias"]
        group = head // (heads // kernel.shape[1])
        return x @ kernel[:, group] + bias[group]

    def map_of(part, h, t):
        open_keys = [s for s in range(len(keys)) if sees(t, s)]
        query = projected("query", queries[t], h)[part]
        products = [query @ projected("key", keys[s], h)[part] for s in open_keys]
        exponentials = [math.exp(product / math.sqrt(half)) for product in products]
        return {s: value / sum(exponentials) for s, value in zip(open_keys, exponentials)}

    for t in range(len(queries)):
        output = np.array(named["output_bias"])
        for h in range(heads):
            first, second = map_of(slice(half), h, t), map_of(slice(half, None), h, t)
            context = 0.0
            for s in first:
                weights[h, t, s] = first[s] - scale(named, initial) * second[s]
                context = context + weights[h, t, s] * projected("value", values[s], h)
            if first:
                square = sum(value**2 for value in context) / len(context)
                normal = context / math.sqrt(square + epsilon) * named["gain"]
                output = output + (1 - initial) * normal @ named["output_kernel"][h]
        outputs.append(output)
    return outputs, weights
