"""An ensemble: the mean of its models' probabilities, however it is asked."""

import keras
import numpy as np
import pytest

from keras_attn.contracts import LOGITS, SOURCE, TOKENS, WEIGHTS
from keras_attn.decoding import Beam, Greedy, decode
from keras_attn.models import Ensemble
from keras_attn.serving.precision import precision_of, set_precision
from keras_attn.training import LinearShare, ScheduledSampling
from tests.conformance.models import MODELS
from tests.models import tiny_conv_seq2seq, tiny_data_to_text, tiny_transformer
from tests.models.test_transformer_decoding import LENGTH, PREFIX, SOURCES, check_recomputed
from tests.quick import rows

SEARCHES = {
    "greedy after a prefix": (Greedy(), PREFIX),
    "beam": (Beam(3, 0.7, 3), None),
    "beam after a prefix": (Beam(3, 0.7, 3), PREFIX),
}


def mixed():
    """A Transformer, one of another size, and a convolutional model."""
    return Ensemble(
        [
            tiny_transformer.transformer(seed=3),
            tiny_transformer.transformer(seed=5, num_layers=1, num_heads=1),
            tiny_conv_seq2seq.conv_seq2seq(**tiny_conv_seq2seq.TIED),
        ]
    )


@pytest.fixture(scope="module")
def ensemble():
    return mixed()


def probabilities(logits):
    logits = np.asarray(logits, "float64")
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_it_predicts_the_mean_of_probabilities(ensemble):
    batch = tiny_transformer.batch()
    outputs, each = ensemble(batch), [model(batch) for model in ensemble.models]
    expected = np.mean([probabilities(output[LOGITS]) for output in each], axis=0)
    np.testing.assert_allclose(np.exp(outputs[LOGITS]), expected, atol=1e-6)
    expected = np.mean([output[WEIGHTS] for output in each], axis=0)
    np.testing.assert_allclose(outputs[WEIGHTS], expected, atol=1e-6)


@pytest.mark.parametrize("search", rows(SEARCHES, ["greedy after a prefix"]))
def test_reported_is_recomputed(ensemble, search):
    strategy, prefix = SEARCHES[search]
    result = decode(ensemble, SOURCES, strategy, LENGTH, prefix=prefix)
    check_recomputed(ensemble, result, prefix)


def test_of_equal_models_it_answers_as_one(ensemble):
    one, other = (tiny_transformer.transformer(seed=3) for _ in range(2))
    alone = decode(one, SOURCES, Beam(3, 0.7), LENGTH)
    both = Ensemble([one, other]).generate(SOURCES, Beam(3, 0.7), LENGTH)
    np.testing.assert_array_equal(alone.tokens, both.tokens)
    np.testing.assert_allclose(alone.scores, both.scores, atol=1e-5)


def test_it_is_saved_and_loaded(ensemble, tmp_path):
    ensemble.save(tmp_path / "model.keras")
    loaded, batch = keras.saving.load_model(tmp_path / "model.keras"), tiny_transformer.batch()
    np.testing.assert_array_equal(loaded(batch)[LOGITS], ensemble(batch)[LOGITS])
    assert loaded.count_params() == sum(model.count_params() for model in ensemble.models)
    assert loaded.shown_weights == "mean over 3 models"


def test_logits_stay_in_float32():
    untied = {**tiny_conv_seq2seq.TIED, "tied": "none"}
    models = [tiny_transformer.transformer(seed=3), tiny_conv_seq2seq.conv_seq2seq(**untied)]
    ensemble, batch = Ensemble(models), tiny_transformer.batch()
    before = np.exp(ensemble(batch)[LOGITS])
    set_precision(ensemble, "bfloat16")
    assert precision_of(ensemble) == "bfloat16"
    after = ensemble(batch)[LOGITS]
    assert after.dtype == "float32" and not np.array_equal(np.exp(after), before)
    np.testing.assert_allclose(np.exp(after), before, atol=0.1)
    decoder = models[1].decoder
    assert (decoder.compute_dtype, decoder.logits.compute_dtype) == ("bfloat16", "float32")


def test_facts_are_told_together():
    models = [tiny_data_to_text.data_to_text(seed=seed) for seed in (0, 1)]
    ensemble, batch = Ensemble(models), tiny_data_to_text.batch()
    expected = np.mean([probabilities(model(batch)[LOGITS]) for model in models], axis=0)
    np.testing.assert_allclose(np.exp(ensemble(batch)[LOGITS]), expected, atol=1e-6)
    fields, mask = np.array([[1, 3, 2]], "int32"), np.array([[True, True, False]])
    links = np.mean([model.followers(fields, mask) for model in models], axis=0)
    np.testing.assert_allclose(ensemble.followers(fields, mask), links, atol=1e-6)


def test_unfit_models_are_refused():
    one = tiny_transformer.transformer()
    for models in ([], [one], one, [one, one]):
        with pytest.raises(ValueError, match="Expected two or more different models"):
            Ensemble(models)
    with pytest.raises(ValueError, match=r"Expected single models from texts.*dense"):
        Ensemble([one, keras.layers.Dense(3, name="dense")])
    facts = tiny_data_to_text.data_to_text()
    with pytest.raises(ValueError, match=r"Expected models with the same inputs.*None, 7"):
        Ensemble([one, facts])
    with pytest.raises(ValueError, match=r"Expected models with the same inputs.*a grid of"):
        Ensemble([MODELS["captioner"](), MODELS["vision_captioner"]()])
    with pytest.raises(ValueError, match=r"Expected a model of an encoder and a decoder"):
        ScheduledSampling(mixed(), LinearShare(0.5))
    other = tiny_conv_seq2seq.conv_seq2seq()
    with pytest.raises(ValueError, match=r"one vocabulary. Received: \[13, 17\] tokens"):
        Ensemble([one, other])({SOURCE: SOURCES, TOKENS: SOURCES})
