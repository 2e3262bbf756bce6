"""R-Drop equals its formula, and ordinary training where nothing is dropped."""

import keras
import numpy as np
import pytest

from keras_attn.contracts import LOGITS
from keras_attn.layers import AdditiveAttention, LocationSampler, SampledAttention
from keras_attn.models import RecurrentSeq2Seq
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.regularized_dropout import AGAIN, RegularizedDropout
from tests.ops.test_symmetric_divergence import twin
from tests.training.test_scheduled_sampling import captioning, translation


def test_the_loss_is_that_of_the_formula():
    model, (batch, targets, weights) = translation(dropout=0.3)
    stage = RegularizedDropout(model, weight=3.0)
    stage.compile("sgd", TokenCrossEntropy(0.1))
    outputs = stage(batch, training=True)
    first, second = np.array(outputs[LOGITS]), np.array(outputs[AGAIN + LOGITS])
    assert np.abs(first - second).max() > 0.01
    losses = [TokenCrossEntropy(0.1)(targets, logits, weights) for logits in (first, second)]
    apart = (twin(first.astype("float64"), second) * weights).sum() / weights.sum()
    expected = np.mean([float(loss) for loss in losses]) + 3 / 4 * apart
    assert float(stage.compute_loss(batch, targets, outputs, weights)) == pytest.approx(expected)
    by_mask = float(stage.compute_loss(batch, targets, outputs, None))
    mask = np.array(outputs[LOGITS]._keras_mask)
    losses = [TokenCrossEntropy(0.1)(targets, logits, mask) for logits in (first, second)]
    apart = (twin(first.astype("float64"), second) * mask).sum() / mask.sum()
    assert by_mask == pytest.approx(np.mean([float(loss) for loss in losses]) + 3 / 4 * apart)


def test_several_samples_of_locations_weigh_as_their_example():
    sampler = LocationSampler(0.0, samples=3, seed=5)
    attention = SampledAttention(AdditiveAttention(3), sampler)
    sizes = {"vocabulary_size": 13, "embedding_dim": 5, "hidden_dim": 7, "dropout": 0.0}
    model = RecurrentSeq2Seq(attention=attention, **sizes)
    batch = {"source": np.array([[5, 7, 11], [4, 0, 0]]), "tokens": np.array([[2, 7], [2, 0]])}
    targets, weights = np.array([[7, 3], [3, 0]]), np.array([[1.0, 0.5], [2.0, 0.0]], "float32")
    stage = RegularizedDropout(model, weight=3.0)
    stage.compile("sgd", TokenCrossEntropy())
    outputs = stage(batch, training=True)
    first, second = np.array(outputs[LOGITS]), np.array(outputs[AGAIN + LOGITS])
    assert first.shape == (6, 2, 13) and np.abs(first - second).max() > 0
    loss = float(stage.compute_loss(batch, targets, outputs, weights))
    repeated = weights.repeat(3, 0)
    apart = (twin(first.astype("float64"), second) * repeated).sum() / repeated.sum()
    stage.weight = 0.0
    without = float(stage.compute_loss(batch, targets, outputs, weights))
    assert loss - without == pytest.approx(3 / 4 * apart, rel=1e-2)


@pytest.mark.systems
@pytest.mark.parametrize("make", [translation, captioning])
def test_without_dropout_it_is_ordinary_training(make):
    model, data = make()
    weights, ends = model.get_weights(), []
    for trained in (model, RegularizedDropout(model)):
        model.set_weights(weights)
        trained.compile(keras.optimizers.SGD(0.01), TokenCrossEntropy())
        loss = float(trained.train_on_batch(*data))
        ends.append([loss, *model.get_weights()])
        assert float(trained.test_on_batch(*data)) < loss
    for expected, end in zip(*ends):
        np.testing.assert_allclose(end, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.systems
def test_a_stage_is_saved(tmp_path):
    model, data = translation(dropout=0.3)
    stage = RegularizedDropout(model, weight=2.0)
    stage.compile("sgd", TokenCrossEntropy())
    stage.train_on_batch(*data)
    stage.save(tmp_path / "stage.keras")
    loaded = keras.saving.load_model(tmp_path / "stage.keras")
    assert (loaded.weight, int(loaded.updates)) == (2.0, 1)
    assert float(loaded.test_on_batch(*data)) == pytest.approx(float(stage.test_on_batch(*data)))


@pytest.mark.parametrize("weight", [0, -1.0, float("nan"), float("inf")])
def test_weights_that_are_refused(weight):
    with pytest.raises(ValueError, match="Expected weight > 0 and finite"):
        RegularizedDropout(translation()[0], weight)
