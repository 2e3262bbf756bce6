"""Decoding strategies against their slow twins and against each other."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import END_ID, PAD_ID
from keras_attn.decoding import (
    Beam,
    Exhaustive,
    ForbiddenTokens,
    Greedy,
    NoRepeatedNgrams,
    Sampling,
    Strategy,
    decode,
    length_penalty,
)
from keras_attn.decoding.candidates import Candidates
from tests.quick import rows
from tests.reference import decoding as twin

CONTEXT = np.array([0, 1, 0], "int32")


def run(stepper, strategy, length, context=CONTEXT, **choices):
    result = decode(stepper, context, strategy, length, **choices)
    return type(result)(*(ops.convert_to_numpy(array) for array in result))


def words(result, example, rank=0):
    return result.tokens[example, rank, : result.lengths[example, rank]].tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("length", [1, 2, 7])
def test_greedy_equals_twin(seed, length):
    stepper = twin.TableStepper(7, 3, seed)
    result = run(stepper, Greedy(), length)
    for example, kind in enumerate(CONTEXT):
        tokens, score = twin.greedy(stepper, kind, length)
        assert words(result, example) == tokens
        np.testing.assert_allclose(result.scores[example, 0], score, rtol=1e-5)
        rows = result.weights[example, 0]
        np.testing.assert_allclose(rows[: len(tokens)], stepper.weight_rows(kind, tokens))
        assert not rows[len(tokens) :].any()


@pytest.mark.parametrize("alpha", [-0.7, 0.0, 1.3])
@pytest.mark.parametrize("seed", range(4))
def test_width_1_is_greedy(seed, alpha):
    stepper = twin.TableStepper(5, 3, seed)
    beam, greedy = run(stepper, Beam(1, alpha), 7), run(stepper, Greedy(), 7)
    np.testing.assert_array_equal(beam.tokens, greedy.tokens)
    np.testing.assert_allclose(beam.weights, greedy.weights)
    np.testing.assert_allclose(beam.token_scores, greedy.token_scores, atol=1e-6)


@pytest.mark.parametrize("normalization", ["gnmt", "average"])
@pytest.mark.parametrize("alpha", [-0.7, 0.0, 1.3])
@pytest.mark.parametrize("end_bonus", [-3.0, 0.0, 3.0])
def test_beam_equals_twin(alpha, end_bonus, normalization):
    stepper = twin.TableStepper(7, 3, int(end_bonus) + 5, end_bonus)
    result = run(stepper, Beam(3, alpha, 3, normalization), 5)
    for example, kind in enumerate(CONTEXT):
        expected = twin.beam(stepper, kind, 5, 3, alpha, normalization)[:3]
        for rank, (score, tokens) in enumerate(expected):
            assert words(result, example, rank) == tokens
            np.testing.assert_allclose(result.scores[example, rank], score, rtol=1e-5)
            token_scores = result.token_scores[example, rank]
            total = score * twin.penalty(len(tokens), alpha, normalization)
            np.testing.assert_allclose(token_scores.sum(), total, rtol=1e-5)
            rows = result.weights[example, rank]
            np.testing.assert_allclose(rows[: len(tokens)], stepper.weight_rows(kind, tokens))
            assert not rows[len(tokens) :].any()


@pytest.mark.parametrize("normalization", ["gnmt", "average"])
@pytest.mark.parametrize("alpha", [-0.7, 0.0, 1.3])
def test_wide_beam_is_exhaustive(alpha, normalization):
    stepper = twin.TableStepper(5, 3, 11)
    beam = run(stepper, Beam(3**4, alpha, 5, normalization), 3)
    whole = run(stepper, Exhaustive(alpha, 5, normalization), 3)
    for example, kind in enumerate(CONTEXT):
        expected = twin.exhaustive(stepper, kind, 3, alpha, normalization)[:5]
        for result in (beam, whole):
            assert [words(result, example, rank) for rank in range(5)] == [t for _, t in expected]
            np.testing.assert_allclose(result.scores[example], [s for s, _ in expected], rtol=1e-5)
    np.testing.assert_allclose(beam.token_scores, whole.token_scores, atol=1e-5)
    np.testing.assert_array_equal(beam.weights, whole.weights)


def test_exhaustive_goes_through_every_sequence_once():
    stepper = twin.TableStepper(5, 3, 2)
    result = run(stepper, Exhaustive(n_best=17), 3)
    expected = twin.exhaustive(stepper, 0, 3, 0.0)
    assert len(expected) == 1 + 2 + 4 + 8
    assert [words(result, 0, rank) for rank in range(15)] == [tokens for _, tokens in expected]
    assert result.lengths[0, 15:].tolist() == [0, 0]
    np.testing.assert_allclose(result.scores[0, :15], [score for score, _ in expected], rtol=1e-5)
    assert (result.scores[0, 15:] == -1e9).all()


class Endless(Strategy):
    """A strategy that never stops early."""

    def __init__(self, strategy):
        self.strategy, self.steps = strategy, []

    def width_for(self, *arguments):
        return self.strategy.width_for(*arguments)

    def begin(self, *arguments):
        return self.strategy.begin(*arguments)

    def advance(self, *arguments):
        return self.strategy.advance(*arguments)

    def finish(self, *arguments):
        return self.strategy.finish(*arguments)

    def done(self, state, time, length):
        self.steps.append(bool(self.strategy.done(state, time, length)))
        return ops.convert_to_tensor(False)


def test_a_strategy_has_every_method():
    class Unfinished(Strategy):
        width_for = begin = advance = done = Greedy.width_for

    with pytest.raises(TypeError, match=r"abstract.*finish"):
        Unfinished()
    alike = SimpleNamespace(width_for=Greedy().width_for)
    with pytest.raises(ValueError, match=r"Expected a strategy of keras_attn\.decoding"):
        decode(twin.TableStepper(7, 3, 5), CONTEXT, alike, 7)


@pytest.mark.parametrize("normalization", ["gnmt", "average"])
@pytest.mark.parametrize("alpha", rows([-0.7, 0.0, 0.4, 2.5], [0.4]))
@pytest.mark.parametrize("n_best", rows([1, 3], [3]))
def test_early_stop_changes_nothing(alpha, normalization, n_best):
    stopped = 0
    for seed, end_bonus in enumerate((-1.0, 1.0, 2.0)):
        stepper = twin.TableStepper(7, 3, seed, end_bonus)
        strategy = Beam(3, alpha, n_best, normalization)
        endless = Endless(strategy)
        result, expected = run(stepper, strategy, 11), run(stepper, endless, 11)
        for part, wanted in zip(result, expected):
            np.testing.assert_array_equal(part, wanted)
        stopped += any(endless.steps)
    assert stopped


def test_only_the_first_hypothesis_lives_at_the_first_step():
    strategy = Beam(3)
    logits = np.log(np.tile([[0.1, 0.2, 0.1, 0.1, 0.2, 0.3]], (6, 1))).astype("float32")
    _, selection = strategy.advance(strategy.begin(2, 3, 7), Candidates(ops.array(logits)), 0, 7)
    assert ops.convert_to_numpy(selection.parents).tolist() == [[0, 0, 0]] * 2
    assert ops.convert_to_numpy(selection.tokens).tolist() == [[5, 1, 4]] * 2


@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, 0.6, 3), Sampling(n=3, seed=5)])
def test_finished_hypotheses_are_frozen(strategy):
    stepper = twin.TableStepper(7, 3, 5, end_bonus=1.0)
    short, long = run(stepper, Endless(strategy), 7), run(stepper, Endless(strategy), 13)
    ended = 0
    for place in np.ndindex(long.lengths.shape):
        tokens = long.tokens[place][: long.lengths[place]]
        assert (tokens[:-1] != END_ID).all()
        assert (long.tokens[place][long.lengths[place] :] == PAD_ID).all()
        assert not long.token_scores[place][long.lengths[place] :].any()
        same = [words(short, place[0], rank) for rank in range(short.lengths.shape[1])]
        ended += tokens[-1] == END_ID and tokens.tolist() in same
    assert ended


@pytest.mark.parametrize(
    "strategy", [Greedy(), Beam(3, 0.6, 3, "average"), Sampling(0.7, 5, 0.9, 3, 3), Exhaustive(1.0)]
)
def test_scores_are_those_of_the_whole_sequence(strategy):
    stepper = twin.TableStepper(7, 3, 3)
    result = run(stepper, strategy, 4)
    alpha = getattr(strategy, "alpha", 0.0)
    for example, rank in np.ndindex(result.lengths.shape):
        tokens, total = words(result, example, rank), 0.0
        for place, token in enumerate(tokens):
            before = [2, *tokens[:place]]
            value = stepper.log_probabilities(CONTEXT[example], before)[token]
            np.testing.assert_allclose(result.token_scores[example, rank, place], value, atol=1e-5)
            total += value
        normalization = getattr(strategy, "normalization", "gnmt")
        total /= twin.penalty(len(tokens), alpha, normalization)
        np.testing.assert_allclose(result.scores[example, rank], total, rtol=1e-5)


def test_neighbors_change_nothing():
    stepper = twin.TableStepper(7, 3, 5)
    together = run(stepper, Beam(3, 0.6, n_best=2), 11)
    for example, kind in enumerate(CONTEXT):
        alone = run(stepper, Beam(3, 0.6, n_best=2), 11, np.array([kind], "int32"))
        np.testing.assert_array_equal(alone.tokens[0], together.tokens[example])
        np.testing.assert_allclose(alone.scores[0], together.scores[example], rtol=1e-6)


@pytest.mark.systems
@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, 0.6)])
def test_without_weights_in_a_graph(strategy):
    stepper = twin.TableStepper(7, 3, 5)
    function = tf.function(lambda c: decode(stepper, c, strategy, 5, with_weights=False)[:4])
    expected = run(stepper, strategy, 5)
    for part, wanted in zip(function(tf.constant(CONTEXT)), expected):
        np.testing.assert_allclose(part, wanted, rtol=1e-5)
    assert decode(stepper, CONTEXT, strategy, 5, with_weights=False).weights is None


def test_missing_hypotheses_are_empty():
    stepper = twin.TableStepper(4, 3, 0)
    stepper.logits[..., 1] = -1e9
    result = run(stepper, Beam(3, n_best=3), 1)
    assert result.lengths.tolist() == [[1, 0, 0]] * 3
    assert (result.tokens[:, 1:] == PAD_ID).all()
    assert (result.scores[:, 1:] == -1e9).all()


def test_average_is_the_mean():
    stepper = twin.TableStepper(7, 3, 1)
    result = run(stepper, Beam(3, 1.0, normalization="average"), 7)
    mean = result.token_scores.sum(-1) / result.lengths
    np.testing.assert_allclose(result.scores, mean, rtol=1e-5)
    np.testing.assert_allclose(length_penalty(np.array([7, 13]), 0.5, "average"), [7**0.5, 13**0.5])


@pytest.mark.parametrize("length", rows([1, 5], [5]))
@pytest.mark.parametrize(
    "strategy",
    rows(
        [Greedy(), Beam(3, 0.6, 3), Beam(2, -0.4, 2, "average"), Sampling(n=2, seed=5)],
        [Beam(3, 0.6, 3)],
    ),
)
def test_a_length_that_only_the_graph_knows(strategy, length):
    stepper = twin.TableStepper(7, 3, 2)
    choices = {
        "constraints": [NoRepeatedNgrams(3), ForbiddenTokens([6])],
        "prefix": np.array([[5, 1], [0, 0], [4, 0]], "int32"),
    }

    @tf.function(autograph=False)
    def in_graph(context, length):
        return decode(stepper, context, strategy, length, **choices)

    expected = run(stepper, strategy, length, **choices)
    for part, wanted in zip(in_graph(CONTEXT, tf.constant(length)), expected):
        np.testing.assert_allclose(part, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beam(0), "width=0"),
        (lambda: Beam(2, n_best=3), "n_best=3"),
        (lambda: Beam(2, float("nan")), "alpha=nan"),
        (lambda: Beam(2, normalization="mean"), "normalization='mean'"),
        (lambda: Exhaustive(n_best=0), "n_best=0"),
        (lambda: Exhaustive(normalization="mean"), "normalization='mean'"),
        (lambda: run(twin.TableStepper(13, 3, 0), Exhaustive(), 7), "V=13, T=7"),
        (lambda: run(twin.TableStepper(5, 3, 0), Greedy(), 0), "max_length=0"),
        (lambda: run(twin.TableStepper(5, 3, 0), Greedy, 5), "<class"),
        (lambda: run(twin.TableStepper(5, 3, 0), "beam", 5), "'beam'"),
        (
            lambda: run(keras.layers.Dense(3), Greedy(), 5),
            "a Dense without start, step",
        ),
        (lambda: run(twin.TableStepper(5, 3, 0), Exhaustive(), tf.constant(2)), "max_length="),
        *(
            (lambda own=own: run(twin.TableStepper(5, 3, 0), Greedy(), own), "max_length=")
            for own in (5.0, "5", None, True, tf.constant([5]), tf.constant(5.0))
        ),
        (
            lambda: run(twin.TableStepper(5, 3, 0), Greedy(), 5, prefix=np.ones((3, 2))),
            "dtype=float64",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=f"Expected.*Received: .*{message}"):
        make()
