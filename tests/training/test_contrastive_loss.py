"""The loss of a dual encoder, beside loops over its formula."""

import keras
import numpy as np
import pytest

from keras_attn.training import ContrastiveLoss

LOGITS = np.random.default_rng(5).normal(size=(5, 5)).astype("float32")


def slow_loss(pictures, logits):
    """Each pair's loss, by the definition."""
    losses = []
    for i, picture in enumerate(pictures):
        right = [j for j, other in enumerate(pictures) if other == picture]
        total = 0.0
        for row in (logits[i], logits[:, i]):
            scores = np.exp(row.astype("float64"))
            total -= sum(np.log(scores[j] / scores.sum()) for j in right) / len(right)
        losses.append(total / 2)
    return np.array(losses)


@pytest.mark.parametrize("pictures", [[7, 3, 5, 11, 2], [7, 3, 7, 7, 3], [1, 1, 1, 1, 1]])
def test_loss_equals_its_formula(pictures):
    expected, loss = slow_loss(pictures, LOGITS), ContrastiveLoss()
    np.testing.assert_allclose(loss(np.array(pictures), LOGITS), expected.mean(), rtol=1e-5)
    weights = np.float32([1, 0, 2, 0, 1])
    mean = (expected * weights).sum() / weights.sum()
    for given in (weights, weights[:, None]):
        np.testing.assert_allclose(loss(np.array(pictures), LOGITS, given), mean, rtol=1e-5)


def test_it_is_the_mean_of_both_directions_in_transformers():
    torch = pytest.importorskip("torch")
    logits, places = torch.tensor(LOGITS), torch.arange(5)
    entropies = [torch.nn.functional.cross_entropy(each, places) for each in (logits, logits.T)]
    loss = ContrastiveLoss()(np.array([7, 3, 5, 11, 2]), LOGITS)
    np.testing.assert_allclose(loss, sum(map(float, entropies)) / 2, rtol=1e-5)


def test_bad_logits_and_config():
    with pytest.raises(ValueError, match=r"Expected logits \(B, B\).*shape=\(5, 3\)"):
        ContrastiveLoss()(np.arange(5), LOGITS[:, :3])
    assert ContrastiveLoss.from_config(ContrastiveLoss(name="own").get_config()).name == "own"
    model = keras.Sequential([keras.layers.Dense(3)])
    model.compile("sgd", ContrastiveLoss())
    model.fit(np.ones((3, 2)), np.arange(3), batch_size=3, verbose=0)
