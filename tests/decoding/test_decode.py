"""Decoding strategies against their slow twins and against each other."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.contracts import PAD_ID
from keras_attn.decoding import Beam, Greedy, decode
from tests.reference import decoding as twin

CONTEXT = np.array([0, 1, 0], "int32")


def run(stepper, strategy, length, context=CONTEXT):
    return type(result := decode(stepper, context, strategy, length))(
        *(ops.convert_to_numpy(one) for one in result)
    )


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
    one, greedy = run(stepper, Beam(1, alpha), 7), run(stepper, Greedy(), 7)
    np.testing.assert_array_equal(one.tokens, greedy.tokens)
    np.testing.assert_allclose(one.weights, greedy.weights)
    np.testing.assert_allclose(one.token_scores, greedy.token_scores, atol=1e-6)


@pytest.mark.parametrize("alpha", [-0.7, 0.0, 1.3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("end_bonus", [-3.0, 0.0, 3.0])
def test_beam_equals_twin(seed, alpha, end_bonus):
    stepper = twin.TableStepper(7, 3, seed, end_bonus)
    result = run(stepper, Beam(3, alpha, n_best=3), 5)
    for example, kind in enumerate(CONTEXT):
        expected = twin.beam(stepper, kind, 5, 3, alpha)[:3]
        for rank, (score, tokens) in enumerate(expected):
            assert words(result, example, rank) == tokens
            np.testing.assert_allclose(result.scores[example, rank], score, rtol=1e-5)
            token_scores = result.token_scores[example, rank]
            total = score * twin.penalty(len(tokens), alpha)
            np.testing.assert_allclose(token_scores.sum(), total, rtol=1e-5)
            rows = result.weights[example, rank]
            np.testing.assert_allclose(rows[: len(tokens)], stepper.weight_rows(kind, tokens))
            assert not rows[len(tokens) :].any()


@pytest.mark.parametrize("alpha", [-0.7, 0.0, 1.3])
def test_wide_beam_is_exhaustive(alpha):
    stepper = twin.TableStepper(5, 3, 11)
    result = run(stepper, Beam(3**4, alpha, n_best=5), 3)
    for example, kind in enumerate(CONTEXT):
        expected = twin.exhaustive(stepper, kind, 3, alpha)[:5]
        assert [words(result, example, rank) for rank in range(5)] == [t for _, t in expected]
        np.testing.assert_allclose(result.scores[example], [s for s, _ in expected], rtol=1e-5)


def test_neighbors_change_nothing():
    stepper = twin.TableStepper(7, 3, 5)
    together = run(stepper, Beam(3, 0.6, n_best=2), 11)
    for example, kind in enumerate(CONTEXT):
        alone = run(stepper, Beam(3, 0.6, n_best=2), 11, np.array([kind], "int32"))
        np.testing.assert_array_equal(alone.tokens[0], together.tokens[example])
        np.testing.assert_allclose(alone.scores[0], together.scores[example], rtol=1e-6)


@pytest.mark.parametrize("strategy", [Greedy(), Beam(3, 0.6)])
def test_without_weights_in_a_graph(strategy):
    stepper = twin.TableStepper(7, 3, 5)
    function = tf.function(lambda c: decode(stepper, c, strategy, 5, with_weights=False)[:4])
    expected = run(stepper, strategy, 5)
    for found, wanted in zip(function(tf.constant(CONTEXT)), expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert decode(stepper, CONTEXT, strategy, 5, with_weights=False).weights is None


def test_missing_hypotheses_are_empty():
    stepper = twin.TableStepper(4, 3, 0)
    stepper.logits[..., 1] = -1e9
    result = run(stepper, Beam(3, n_best=3), 1)
    assert result.lengths.tolist() == [[1, 0, 0]] * 3
    assert (result.tokens[:, 1:] == PAD_ID).all()
    assert (result.scores[:, 1:] == -1e9).all()


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: width=0"):
        Beam(0)
    with pytest.raises(ValueError, match="Received: n_best=3"):
        Beam(2, n_best=3)
    with pytest.raises(ValueError, match="Received: max_length=0"):
        decode(twin.TableStepper(5, 3, 0), CONTEXT, Greedy(), 0)
