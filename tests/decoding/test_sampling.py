"""Sampling: its distribution, its cuts, its seeds."""

import numpy as np
import pytest
from keras import ops

from keras_attn.contracts import END_ID
from keras_attn.decoding import Greedy, Sampling
from keras_attn.decoding.sampling import _first_above
from keras_attn.ops.counter_random import counter_uniform
from tests.decoding.test_decode import CONTEXT, run, words
from tests.reference import decoding as twin


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(None, 1.0), (3, 1.0), (None, 0.6), (5, 0.8)])
def test_equals_twin(temperature, top_k, top_p):
    stepper = twin.TableStepper(11, 3, 7)
    result = run(stepper, Sampling(temperature, top_k, top_p, 13), 5)
    uniforms = counter_uniform(13, ops.arange(5)[:, None], ops.arange(3))
    for example, kind in enumerate(CONTEXT):
        numbers = ops.convert_to_numpy(uniforms)[:, example]
        tokens, score = twin.sample(stepper, kind, numbers, temperature, top_k, top_p)
        assert words(result, example) == tokens
        np.testing.assert_allclose(result.scores[example, 0], score, rtol=1e-5)
        rows = result.weights[example, 0]
        np.testing.assert_allclose(rows[: len(tokens)], stepper.weight_rows(kind, tokens))


@pytest.mark.parametrize(("top_k", "top_p"), [(None, 1.0), (4, 1.0), (None, 0.7), (5, 0.9)])
def test_shares_of_the_draws(top_k, top_p):
    """Chi-square of 5,003 first tokens below its 99.9 % quantile."""
    stepper = twin.TableStepper(11, 3, 7)
    result = run(stepper, Sampling(1.3, top_k, top_p, 17), 1, np.zeros(5003, "int32"))
    row = stepper.log_probabilities(0, [2])
    shares = np.exp(row / 1.3)
    order = np.argsort(-shares)
    shares[order[top_k or 11 :]] = 0
    shares /= shares.sum()
    shares[order[1:][np.cumsum(shares[order])[:-1] >= top_p]] = 0
    shares /= shares.sum()
    counts = np.bincount(result.tokens[:, 0, 0], minlength=11)
    assert not counts[shares == 0].any()
    expected = 5003 * shares[shares > 0]
    statistic = np.sum((counts[shares > 0] - expected) ** 2 / expected)
    quantiles = {1: 10.8, 2: 13.8, 3: 16.3, 4: 18.5, 5: 20.5, 6: 22.5, 7: 24.3, 8: 26.1}
    assert statistic < quantiles[len(expected) - 1]


def test_towards_temperature_0_it_is_greedy():
    stepper = twin.TableStepper(7, 3, 3)
    greedy = run(stepper, Greedy(), 7)
    for strategy in (Sampling(1e-4, seed=3), Sampling(top_k=1, seed=3), Sampling(top_p=1e-6)):
        result = run(stepper, strategy, 7)
        np.testing.assert_array_equal(result.tokens, greedy.tokens)
        np.testing.assert_allclose(result.scores, greedy.scores, rtol=1e-5)


def test_seeds_steps_and_rows():
    stepper = twin.TableStepper(13, 3, 3, end_bonus=-9.0)
    context = np.zeros(7, "int32")
    first, again = (run(stepper, Sampling(seed=5, n=3), 11, context) for _ in range(2))
    np.testing.assert_array_equal(first.tokens, again.tokens)
    other = run(stepper, Sampling(seed=6, n=3), 11, context)
    assert not (first.tokens == other.tokens).all(axis=-1).any()
    sequences = {tuple(row) for row in first.tokens.reshape(-1, 11).tolist()}
    assert len(sequences) == 21
    assert len(set(first.tokens[0, 0].tolist())) > 2
    assert (np.diff(first.scores, axis=1) <= 0).all()


def test_a_seed_for_each_example_makes_it_independent_of_its_neighbors():
    stepper = twin.TableStepper(13, 3, 3)
    seeds = np.array([3, 5, -7], "int32")
    together = run(stepper, Sampling(seed=ops.array(seeds), n=2), 7)
    for example in range(3):
        alone = Sampling(seed=ops.array(seeds[example : example + 1]), n=2)
        alone = run(stepper, alone, 7, CONTEXT[example : example + 1])
        np.testing.assert_array_equal(alone.tokens[0], together.tokens[example])
    single = run(stepper, Sampling(seed=ops.array(3), n=2), 7, CONTEXT[:1])
    np.testing.assert_array_equal(single.tokens[0], together.tokens[0])


def test_impossible_tokens_are_never_drawn():
    cumulative = ops.array([[0.0, 0.3, 0.3, 0.2999, 0.7, 0.6999]])
    possible = ops.array([[False, True, False, False, True, False]])
    for threshold, expected in ((0.0, 1), (0.29, 1), (0.29995, 1), (0.3, 4), (0.8, 4)):
        assert int(_first_above(cumulative, threshold, possible)[0, 0]) == expected
    stepper = twin.TableStepper(5, 3, 0)
    stepper.logits[..., [1, 4]] = -np.inf
    result = run(stepper, Sampling(1e8, n=5), 3)
    assert (result.tokens[..., 0] == END_ID).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0},
        {"temperature": float("nan")},
        {"top_k": 0},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"n": 0},
        {"seed": np.zeros((1, 1), "int32")},
    ],
)
def test_bad_arguments(wrong):
    with pytest.raises(ValueError, match=f"Expected.*Received: {next(iter(wrong))}="):
        Sampling(**wrong)
