"""Decodes cases in this process and writes the answers; JAX compiles each.

Run as `python -m tests.decoding.replay FILE.npz CASE…`, under any Keras backend.
"""

import sys
from functools import partial

import numpy as np
from keras import ops

from keras_attn.decoding import (
    Beam,
    Exhaustive,
    ForbiddenTokens,
    Greedy,
    MinimumLength,
    NoRepeatedNgrams,
    Sampling,
    WellFormedTree,
    decode,
)
from tests.processes import compiled
from tests.reference.decoding import TableStepper

CONTEXT = np.array([0, 1, 0], "int32")
PREFIX = np.array([[5, 1], [0, 0], [4, 0]], "int32")
LIMITS = (MinimumLength(4), ForbiddenTokens([6]), NoRepeatedNgrams(2))
VOCABULARY = 1009
CASES = {
    "greedy": (Greedy(), 7, False),
    "beam": (Beam(3, 0.6, 3), 7, True),
    "beam average": (Beam(5, -0.4, 2, "average"), 7, False),
    "sampling": (Sampling(0.7, n=3, seed=5), 7, False),
    "sampling cut": (Sampling(1.3, 5, 0.9, seed=5), 7, True),
    "sampling nucleus": (Sampling(top_p=0.8, seed=7, n=2), 7, True),
    "exhaustive": (Exhaustive(1.0, 3), 2, False),
    "one step": (Beam(2), 1, True),
    "trees": (Beam(3, 0.6, 3), 13, False),
}


def answer(name, context):
    """`DecodeResult` of a case, every part of it."""
    strategy, length, limited = CASES[name]
    vocabulary = 13 if name == "exhaustive" else VOCABULARY
    stepper = TableStepper(vocabulary, 3, 2)
    choices = {"constraints": LIMITS, "prefix": PREFIX} if limited else {}
    if name == "one step":
        choices["constraints"] = LIMITS[1:]
    if name == "trees":
        choices["constraints"] = [WellFormedTree((4, 6), (5, 7), 8, [3, 0, 2], [13, 5, 9], 2, 4)]
    return decode(stepper, context, strategy, length, **choices)


def arrays(result):
    """A `DecodeResult` as NumPy arrays."""
    return [ops.convert_to_numpy(array) for array in result]


if __name__ == "__main__":
    answers = {n: arrays(compiled(partial(answer, n))(CONTEXT)) for n in sys.argv[2:]}
    np.savez(
        sys.argv[1], **{f"{n}/{i}": array for n in answers for i, array in enumerate(answers[n])}
    )
