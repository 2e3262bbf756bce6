"""Constraints and forced prefixes hold with every strategy."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as some
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, START_ID
from keras_attn.decoding import (
    Beam,
    Exhaustive,
    FirstToken,
    ForbiddenTokens,
    Greedy,
    MaximumLength,
    MinimumLength,
    NoRepeatedNgrams,
    Sampling,
    decode,
    forbid,
)
from keras_attn.ops.counter_random import counter_uniform
from tests.decoding.test_decode import CONTEXT, run, words
from tests.quick import rows
from tests.reference import decoding as twin

STRATEGIES = (Greedy(), Beam(3, 0.6, 3), Sampling(1.3, n=2), Sampling(1.3, 3, 0.9), Exhaustive())


def minimum(length):
    return lambda tokens: [END_ID] if len(tokens) + 1 < length else []


def no_repeat(size):
    def rule(tokens):
        grams = {tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)}
        newest = tuple(tokens[len(tokens) - size + 1 :])
        if len(tokens) < size - 1:
            return []
        return [token for token in range(20) if (*newest, token) in grams and token < 7]

    return rule


def both(*rules):
    return lambda tokens: [token for rule in rules for token in rule(tokens)]


CASES = {
    "minimum": ([MinimumLength(4)], minimum(4)),
    "forbidden": ([ForbiddenTokens([1, 5])], lambda tokens: [1, 5]),
    "once": ([NoRepeatedNgrams(1)], no_repeat(1)),
    "twice": ([NoRepeatedNgrams(2)], no_repeat(2)),
    "thrice": ([NoRepeatedNgrams(3)], no_repeat(3)),
    "all": (
        [MinimumLength(5), ForbiddenTokens([4]), NoRepeatedNgrams(1)],
        both(minimum(5), lambda tokens: [4], no_repeat(1)),
    ),
}
PREFIX = np.array([[5, 1], [PAD_ID, PAD_ID], [4, PAD_ID]], "int32")


def expected(strategy, stepper, example, length, forced):
    """(score, tokens) of each rank, by the twin."""
    kind = CONTEXT[example]
    if isinstance(strategy, Greedy):
        return [twin.greedy(stepper, kind, length, forced)[::-1]]
    if isinstance(strategy, Beam):
        return twin.beam(stepper, kind, length, 3, strategy.alpha, forced=forced)[:3]
    if isinstance(strategy, Exhaustive):
        return twin.exhaustive(stepper, kind, length, 0.0, forced=forced)[:1]
    draws = []
    for sample in range(strategy.n):
        row = strategy.n * example + sample
        uniforms = ops.convert_to_numpy(counter_uniform(0, ops.arange(length), row))
        cuts = (strategy.temperature, strategy.top_k, strategy.top_p)
        draws.append(twin.sample(stepper, kind, uniforms, *cuts, forced)[::-1])
    return sorted(draws, reverse=True)


@pytest.mark.parametrize("prefix", [None, PREFIX])
@pytest.mark.parametrize("name", rows(sorted(CASES), {"all", "twice"}))
def test_equals_twin(name, prefix):
    constraints, rule = CASES[name]
    stepper = twin.TableStepper(7, 3, 2, end_bonus=1.0)
    ruled = twin.Ruled(stepper, rule)
    for strategy in STRATEGIES:
        result = run(stepper, strategy, 5, constraints=constraints, prefix=prefix)
        for example in range(3):
            forced = [] if prefix is None else [int(token) for token in prefix[example] if token]
            for rank, (score, tokens) in enumerate(expected(strategy, ruled, example, 5, forced)):
                assert words(result, example, rank) == tokens, (strategy, example)
                np.testing.assert_allclose(result.scores[example, rank], score, rtol=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_prefix_is_in_the_answer_but_not_in_the_scores(strategy):
    stepper = twin.TableStepper(7, 3, 2)
    result = run(stepper, strategy, 5, prefix=PREFIX)
    assert result.tokens.shape[-1] == result.weights.shape[2] == 7
    for example, rank in np.ndindex(result.lengths.shape):
        tokens = words(result, example, rank)
        forced = [int(token) for token in PREFIX[example] if token]
        assert tokens[: len(forced)] == forced
        scores, weights = result.token_scores[example, rank], result.weights[example, rank]
        assert not scores[: len(forced)].any() and not weights[: len(forced)].any()
        assert not scores[len(tokens) :].any() and not weights[len(tokens) :].any()
        rows = stepper.weight_rows(CONTEXT[example], tokens)[len(forced) :]
        np.testing.assert_allclose(weights[len(forced) : len(tokens)], rows)
        for place in range(len(forced), len(tokens)):
            row = stepper.log_probabilities(CONTEXT[example], [START_ID, *tokens[:place]])
            np.testing.assert_allclose(scores[place], row[tokens[place]], atol=1e-5)


def test_more_padding_of_the_prefix_changes_nothing():
    stepper = twin.TableStepper(7, 3, 2)
    wider = np.pad(PREFIX, ((0, 0), (0, 3)))
    constraints = [MinimumLength(4), NoRepeatedNgrams(2)]
    for strategy in (Beam(3, 0.6), Sampling()):
        narrow = run(stepper, strategy, 5, prefix=PREFIX, constraints=constraints)
        wide = run(stepper, strategy, 5, prefix=wider, constraints=constraints)
        np.testing.assert_array_equal(wide.tokens[..., :7], narrow.tokens)
        np.testing.assert_allclose(wide.scores, narrow.scores, rtol=1e-6)
        assert not wide.tokens[..., 7:].any()


def test_prefill_is_stepping():
    stepper = twin.TableStepper(7, 3, 2)
    prefix = np.array([[2, 5, 1], [2, 0, 0], [2, 4, 0]], "int32")
    memory, state = stepper.start(CONTEXT, 3)
    result = stepper.prefill(prefix, memory, state)
    for row, tokens in enumerate(prefix):
        memory, state = stepper.start(CONTEXT[row : row + 1], 3)
        for token in tokens[tokens > 0]:
            step = stepper.step(ops.array([token]), memory, state)
            state = step.state
        np.testing.assert_array_equal(result.logits[row], step.logits[0])
        np.testing.assert_array_equal(result.weights[row], step.weights[0])
        np.testing.assert_array_equal(result.state["previous"][row], state["previous"][0])


@hypothesis.settings(max_examples=23, deadline=None, derandomize=True)
@hypothesis.given(
    seed=some.integers(0, 99),
    length=some.integers(1, 7),
    size=some.integers(1, 4),
    strategy=some.sampled_from((Greedy(), Beam(2, -0.5), Beam(3, 1.0, 2), Sampling(2.0, n=3))),
)
def test_constraints_hold(seed, length, size, strategy):
    stepper = twin.TableStepper(23, 3, seed, end_bonus=2.0)
    constraints = [MinimumLength(length), ForbiddenTokens([7, 11]), NoRepeatedNgrams(size)]
    result = run(stepper, strategy, 11, constraints=constraints)
    for example, rank in np.ndindex(result.lengths.shape):
        tokens = words(result, example, rank)
        assert len(tokens) >= length and not {7, 11} & set(tokens)
        grams = [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
        assert len(grams) == len(set(grams))


class Alternating:
    """A user's own: odd and even tokens take turns, whatever else is more probable."""

    def start(self, batch, vocabulary, length):
        return {"odd": ops.ones((batch,), "bool")}

    def mask(self, log_probabilities, state):
        token = ops.arange(log_probabilities.shape[-1])
        wrong = ops.not_equal(ops.equal(token % 2, 1), state["odd"][:, None])
        return forbid(log_probabilities, wrong & ops.not_equal(token, END_ID))

    def update(self, state, tokens):
        return {"odd": ops.equal(tokens % 2, 0)}


def test_a_constraint_of_a_user():
    stepper = twin.TableStepper(11, 3, 2, end_bonus=-2.0)
    for strategy in (Greedy(), Beam(5, n_best=5), Sampling(n=5)):
        result = run(stepper, strategy, 7, constraints=[Alternating()])
        for place in np.ndindex(result.lengths.shape):
            tokens = [word for word in words(result, *place) if word != END_ID]
            assert [token % 2 for token in tokens] == [(at + 1) % 2 for at in range(len(tokens))]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MinimumLength(0), "length=0"),
        (lambda: ForbiddenTokens([]), r"tokens=\(\)"),
        (lambda: ForbiddenTokens([-1]), r"tokens=\(-1,\)"),
        (lambda: NoRepeatedNgrams(0), "size=0"),
        (lambda: tried(constraints=[MinimumLength(6)]), "length=6"),
        (lambda: tried(constraints=[ForbiddenTokens([7])]), r"tokens=\(7,\)"),
        (lambda: tried(prefix=PREFIX[:, :0]), r"shape=\(3, 0\)"),
        (lambda: tried(prefix=PREFIX[0]), r"shape=\(2,\)"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=rf"Expected.*Received: {message}"):
        make()


def tried(**choices):
    return decode(twin.TableStepper(7, 3, 0), CONTEXT, Greedy(), 5, **choices)


class Unannounced:
    """A constraint that does not say when it applies."""

    def __init__(self, constraint):
        self.start, self.mask = constraint.start, constraint.mask
        self.update = constraint.update


@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, 0.6, 3), Sampling(1.3, 3, 0.9)])
@pytest.mark.parametrize(
    "constraints",
    [
        [MinimumLength(4)],
        [FirstToken(5)],
        [MaximumLength([2, 7, 3])],
        [MaximumLength([2, 7, 3], is_free=True), FirstToken(4), MinimumLength(2)],
    ],
)
def test_when_a_constraint_does_not_apply_it_changes_nothing(strategy, constraints):
    stepper = twin.TableStepper(7, 3, 2, end_bonus=0.5)
    told = run(stepper, strategy, 7, constraints=constraints)
    unannounced = [Unannounced(constraint) for constraint in constraints]
    expected = run(stepper, strategy, 7, constraints=unannounced)
    np.testing.assert_array_equal(told.tokens, expected.tokens)
    np.testing.assert_allclose(told.token_scores, expected.token_scores, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(told.scores, expected.scores, rtol=1e-6)
