"""Slow twin of the Perceiver resampler, written from the Flamingo paper's program."""

import math

import numpy as np

from tests.reference.transformer import FUNCTIONS, multi_head


def inside(named, prefix):
    """The parameters whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}


def normal(named, x, epsilon):
    """Layer normalization of a vector."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    return (x - mean) / math.sqrt(variance + epsilon) * named["gamma"] + named["beta"]


def resample(named, inputs, layers, epsilon, activation):
    """Latents (N, D), and weights (H, N, S + N) of each layer, of the real inputs of an example.

    Args:
        named: dict from names such as "block_0/attention/query_kernel" to float64 arrays.
        inputs: (S, D).
        layers: number of layers.
        epsilon: of the normalizations.
        activation: a name in `FUNCTIONS`.
    """
    latents, weights = list(named["latents"]), []

    def norm(name, vectors):
        return [normal(inside(named, f"{name}/"), x, epsilon) for x in vectors]

    for n in range(layers):
        block = f"block_{n}"
        queries = norm(f"{block}/attention_residual/normalization", latents)
        memory = norm(f"{block}/inputs_normalization", inputs) + queries
        attention = inside(named, f"{block}/attention/")
        attended, heads = multi_head(attention, queries, memory, lambda t, s: True)
        weights.append(heads)
        latents = [x + y for x, y in zip(latents, attended)]
        net = inside(named, f"{block}/feed_forward/")
        for place, x in enumerate(norm(f"{block}/feed_forward_residual/normalization", latents)):
            hidden = x @ net["hidden_kernel"] + net.get("hidden_bias", 0)
            hidden = np.array([FUNCTIONS[activation](value) for value in hidden])
            latents[place] = latents[place] + hidden @ net["output_kernel"]
            latents[place] = latents[place] + net.get("output_bias", 0)
    return np.array(norm("last_norm", latents)), weights
