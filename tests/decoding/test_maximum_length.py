"""Each answer ends within its own length, whatever the strategy."""

import numpy as np
import pytest
from keras import ops

from keras_attn.contracts import END_ID
from keras_attn.decoding import Beam, Exhaustive, Greedy, MaximumLength, Sampling, decode
from tests.decoding.test_decode import CONTEXT
from tests.reference.decoding import TableStepper

MOST, LENGTH = [2, 9, 1], 4
STRATEGIES = (Greedy(), Beam(3, 0.6, 3), Sampling(1.3, n=2, seed=3), Exhaustive(n_best=5))


def decoded(strategy, constraints=(), prefix=None):
    stepper = TableStepper(7, 3, 5, -2.0)
    result = decode(stepper, CONTEXT, strategy, LENGTH, constraints=constraints, prefix=prefix)
    return [ops.convert_to_numpy(array) for array in (result.tokens, result.lengths, result.scores)]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_answers_end_within_their_length(strategy):
    tokens, lengths, scores = decoded(strategy, [MaximumLength(MOST)])
    free_tokens, _, free_scores = decoded(strategy)
    for row, most in enumerate(MOST):
        for answer, length in zip(tokens[row], lengths[row]):
            assert length <= most
            if most <= LENGTH and length:
                assert answer[length - 1] == END_ID
    np.testing.assert_array_equal(tokens[1], free_tokens[1])
    np.testing.assert_allclose(scores[1], free_scores[1], rtol=1e-5)


def test_greedy_goes_its_way_until_then():
    tokens, lengths, _ = decoded(Greedy(), [MaximumLength([3, 3, 3])])
    free, free_lengths, _ = decoded(Greedy())
    assert (free_lengths > 3).any()
    for row in range(3):
        going_on = min(2, free_lengths[row, 0])
        np.testing.assert_array_equal(tokens[row, 0, :going_on], free[row, 0, :going_on])
        assert tokens[row, 0, lengths[row, 0] - 1] == END_ID


def test_a_prefix_counts():
    prefix = np.array([[5, 1], [4, 0], [5, 0]], "int32")
    tokens, lengths, _ = decoded(Greedy(), [MaximumLength([3, 3, 2])], prefix)
    assert (lengths[:, 0] <= [3, 3, 2]).all()
    for row in range(3):
        assert tokens[row, 0, lengths[row, 0] - 1] == END_ID
