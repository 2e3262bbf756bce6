"""Each answer has only tokens that its example allows, whatever the strategy."""

import numpy as np
import pytest

from keras_attn.contracts import END_ID
from keras_attn.decoding import AllowedTokens
from tests.decoding.test_maximum_length import STRATEGIES, decoded

VOCABULARY = 7


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_answers_have_allowed_tokens_only(strategy):
    free = decoded(strategy)
    for ours, expected in zip(decoded(strategy, [AllowedTokens(np.ones((3, VOCABULARY)))]), free):
        np.testing.assert_array_equal(ours, expected)
    allowed = np.ones((3, VOCABULARY), bool)
    said = [sorted({*free[0][row].ravel()} - {0, END_ID}) for row in range(3)]
    for row in (0, 2):  # What they said before.
        allowed[row, said[row][0]] = False
    tokens, _, scores = decoded(strategy, [AllowedTokens(allowed)])
    for row in range(3):
        assert allowed[row, tokens[row]].all()
    np.testing.assert_array_equal(tokens[1], free[0][1])
    np.testing.assert_array_equal(scores[1], free[2][1])
