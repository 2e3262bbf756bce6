"""Slow twin of end-to-end memory networks: one story, one sentence, one word at a time."""

import math

import numpy as np


def sentence(tokens, table, encoding):
    """Vector of a sentence in float64; token 0 is nil."""
    words = [token for token in tokens if token != 0]
    width = table.shape[1]
    vector = np.zeros(width)
    for j, token in enumerate(words, 1):
        for k in range(1, width + 1):
            share, place = k / width, j / len(words)
            weight = 1 + 4 * (place - 0.5) * (share - 0.5) if encoding == "position" else 1.0
            vector[k - 1] += weight * table[token, k - 1]
    return vector


def network(question, story, weights, hops, size, encoding, tying, linear=False, empty=False):
    """State after the last hop (D,) and weights (K, M) of one story, rows of tokens.

    Args:
        weights: dict of "words" and "times", lists of tables, and with layer-wise tying "question"
            and "transition".
    """
    places = [place for place, tokens in enumerate(story) if any(tokens)]
    kept = places[-size:]
    first = weights["words"][0] if tying == "adjacent" else weights["question"]
    state = sentence(question, first, encoding)
    looked = np.zeros((hops, len(story)))
    for hop in range(hops):
        i = hop if tying == "adjacent" else 0
        keys, values = {}, {}
        for rank, place in enumerate(kept):
            age = len(kept) - 1 - rank
            for vectors, table in ((keys, i), (values, i + 1)):
                encoded = sentence(story[place], weights["words"][table], encoding)
                vectors[place] = encoded + weights["times"][table][age]
        scores = {place: float(np.dot(state, keys[place])) for place in kept}
        shares = scores
        if not linear:
            total = sum(math.exp(score) for score in scores.values())
            total += size - len(kept) if empty else 0
            shares = {place: math.exp(scores[place]) / total for place in kept}
        read = np.zeros_like(state)
        for place, share in shares.items():
            looked[hop, place] = share
            read += share * values[place]
        if tying == "layer_wise":
            state = state @ weights["transition"]
        state = state + read
    return state, looked
