"""Slow twin of an LSTM language model with a memory bank: one word, one slot at a time."""

import math

import numpy as np


def read(state, keys, values):
    """Context and weights over the slots, in float64."""
    scores = [sum(h * k for h, k in zip(state, key)) for key in keys]
    total = sum(math.exp(score) for score in scores)
    weights = [math.exp(score) / total for score in scores]
    context = sum(weight * np.asarray(value, float) for weight, value in zip(weights, values))
    return context, np.array(weights)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def lstm(inputs, context, hidden, cell, kernels, bias, forget_bias):
    """One step: h and c from x, c_t, h and c; kernels of x, c_t and h, gates i, f, g, o."""
    size = len(hidden)
    gates = np.array(bias, float)
    for vector, kernel in zip((inputs, context, hidden), kernels):
        gates = gates + np.asarray(vector, float) @ kernel
    after_hidden, after_cell = np.zeros(size), np.zeros(size)
    for k in range(size):
        enter, forget, candidate, leave = (gates[gate * size + k] for gate in range(4))
        after_cell[k] = sigmoid(forget + forget_bias) * cell[k]
        after_cell[k] += sigmoid(enter) * math.tanh(candidate)
        after_hidden[k] = sigmoid(leave) * math.tanh(after_cell[k])
    return after_hidden, after_cell
