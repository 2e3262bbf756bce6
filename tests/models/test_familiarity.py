"""The familiarity of pictures against a slow twin, and what it promises."""

import keras
import numpy as np
import pytest
from scipy.stats import norm

from keras_attn.models import Familiarity

D, R, S = 7, 3, 5


def features(seed, count, mean=4.0, spread=1.0):
    """float64 (count, S, D), of some hundred samples more spread in three directions."""
    random = np.random.default_rng(seed)
    mixed = random.normal(size=(count, R)) @ np.random.default_rng(0).normal(size=(R, D))
    return mean + spread * (mixed[:, None] + 0.3 * random.normal(size=(count, S, D)))


def pooled(values):
    """The twin of `Familiarity.pool`."""
    mean = values.mean(1)
    return np.sign(mean) * np.sqrt(np.abs(mean))


def adapted(**kinds):
    """A `Familiarity` of 40 training pictures, 30 known and 20 others."""
    layer = Familiarity(D, R)
    given = {
        "training": pooled(features(1, 40)),
        "known": pooled(features(2, 30)),
        "other": pooled(features(3, 20, mean=-2.0)),
    }
    layer.adapt(**{**given, **kinds})
    return layer


def distances(training, vectors):
    """The twin of d², by the inverse of the covariance that the components stand for."""
    covariance = np.cov(training.T)
    values, directions = np.linalg.eigh(covariance)
    values[: D - R] = values[: D - R].mean()
    inverse = np.linalg.inv(directions @ np.diag(values) @ directions.T)
    away = vectors - training.mean(0)
    return np.einsum("nd,de,ne->n", away, inverse, away)


def test_familiarity_equals_the_twin():
    layer = adapted(other=pooled(features(3, 20, mean=0.0)))
    asked = features(4, 11, mean=2.2)
    squared = distances(pooled(features(1, 40)), pooled(asked))
    known, other = (
        np.log(distances(pooled(features(1, 40)), pooled(features(seed, count, mean=mean))))
        for seed, count, mean in ((2, 30, 4.0), (3, 20, 0.0))
    )
    variance = (known.var() + other.var()) / 2
    densities = [norm.pdf(np.log(squared), part.mean(), variance**0.5) for part in (known, other)]
    prior = float(layer.prior)
    expected = prior * densities[0] / (prior * densities[0] + (1 - prior) * densities[1])
    result = keras.ops.convert_to_numpy(layer(asked))
    assert result.dtype == "float32" and result.shape == (11,)
    assert expected.min() > 0 and expected.std() > 0.01
    np.testing.assert_allclose(result, expected, atol=1e-4)


@pytest.mark.parametrize(("count", "below"), [(1000, 29), (30, 0)])
def test_at_most_three_percent_of_known_pictures_are_below_a_half(count, below):
    known = pooled(features(5, count))
    shares = keras.ops.convert_to_numpy(adapted(known=known).of_pooled(known)) < 0.5
    assert shares.sum() == below


def test_pictures_far_from_all_others_are_unfamiliar():
    layer = adapted()
    near, far = (keras.ops.convert_to_numpy(layer(features(6, 50, m))) for m in (4.0, -2.0))
    assert np.median(near) > 0.9 and far.max() < 0.1


def test_constant_features_are_familiar_to_themselves_alone():
    same = np.ones((40, D))
    layer = adapted(training=same, known=same[:30], other=2 * same[:20])
    known, other = keras.ops.convert_to_numpy(layer.of_pooled(np.stack([same[0], 1.1 * same[0]])))
    assert known >= 0.5 > 0.1 > other


def test_weights_are_stored_and_restored(tmp_path):
    layer = adapted()
    model = keras.Sequential([keras.Input((S, D)), layer])
    model.save(tmp_path / "familiarity.keras")
    again = keras.models.load_model(tmp_path / "familiarity.keras")
    asked = features(4, 11).astype("float32")
    np.testing.assert_array_equal(again.predict(asked, verbose=0), model.predict(asked, verbose=0))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"training": np.zeros((3, D))}, "training of at least 4 rows of 7.*(3, 7)"),
        ({"known": np.zeros((0, D))}, "known of at least 1 rows of 7.*(0, 7)"),
        ({"other": np.zeros((2, D + 1))}, "other of at least 1 rows of 7.*(2, 8)"),
        ({"known": np.full((5, D), np.nan)}, "Expected finite known"),
        ({"other": pooled(features(8, 20))}, "Expected other pictures to be farther"),
    ],
)
def test_refused_samples(given, problem):
    with pytest.raises(ValueError, match=problem.replace("(", r"\(").replace(")", r"\)")):
        adapted(**given)


@pytest.mark.parametrize("shape", [(2, D), (2, S, D + 1), (2, 3, S, D)])
def test_refused_features(shape):
    with pytest.raises(ValueError, match=r"features of shape \(B, S, 7\)\. Received: shape="):
        adapted()(np.zeros(shape, "float32"))


def test_all_directions():
    layer = Familiarity(D, D)
    training = pooled(features(1, 40))
    layer.adapt(training, pooled(features(2, 30)), pooled(features(3, 20, mean=-2.0)))
    asked = pooled(features(4, 11))
    away = asked - training.mean(0)
    squared = np.einsum("nd,de,ne->n", away, np.linalg.inv(np.cov(training.T)), away)
    expected = 1 / (1 + np.exp(float(layer.slope) * (np.log(squared) - float(layer.log_distance))))
    np.testing.assert_allclose(layer.of_pooled(asked), expected, atol=1e-3)


def test_float32_in_any_precision():
    layer = Familiarity(D, R, dtype="mixed_bfloat16")
    spec = layer.compute_output_spec(keras.KerasTensor((None, S, D), "bfloat16"))
    assert (spec.shape, spec.dtype) == ((None,), "float32")


@pytest.mark.parametrize("rank", [0, D + 1])
def test_refused_ranks(rank):
    with pytest.raises(ValueError, match=f"1 <= rank <= dim. Received: rank={rank}, dim=7"):
        Familiarity(D, rank)


def test_the_rank_for_few_pictures():
    asked = [(6000, 1280), (200, 1280), (3, 1280), (6000, 16), (1, 1)]
    assert [Familiarity.rank_for(*sizes) for sizes in asked] == [256, 100, 1, 8, 1]
