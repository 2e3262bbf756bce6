"""Several models that answer together."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import LOGITS, PAD_ID, TOKENS, WEIGHTS, StepResult
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.data_to_text.data_to_text import DataToText
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.models.source_target import SourceTarget
from keras_attn.ops.log_probabilities import log_probabilities


@keras.saving.register_keras_serializable(package="keras_attn")
class Ensemble(EncoderDecoder):
    """Models of one task that predict the mean of their probabilities.

        p(y_t | y_1 … y_{t−1}, x) = Σ_m p_m(y_t | y_1 … y_{t−1}, x) / M

    It is a `Stepper`. Each step runs every model, so a search costs the sum of theirs. Train the
    models one by one: `fit` of an ensemble trains all of them at once, by the loss of its LOGITS
    alone.

    Args:
        models: two or more `Transformer`, `ConvSeq2Seq`, `RecurrentSeq2Seq`, `DataToText` or
            `Captioner`, with equal inputs and vocabularies. Their classes and sizes may differ, but
            not the grids that captioners attend to.

    Call arguments:
        batch: dict, as for each model.

    Returns:
        dict: LOGITS float32 (B, T, V), log-probabilities with the mask of the real tokens, and
        WEIGHTS float32 (B, T, S), the mean of the models'; of captions (B, C, T, ...).

    Raises:
        ValueError: fewer than two models; one of another kind or with other inputs; when they are
            called, vocabularies of different sizes.

    Example:
        >>> from keras_attn.models import RecurrentSeq2Seq
        >>> sizes = {"vocabulary_size": 13, "embedding_dim": 3}
        >>> model = Ensemble([RecurrentSeq2Seq(hidden_dim=5, **sizes) for _ in range(2)])
        >>> batch = {"source": ops.ones((2, 11), "int32"), "tokens": ops.ones((2, 3), "int32")}
        >>> probabilities = ops.exp(model(batch)["logits"])
        >>> bool(ops.max(ops.abs(ops.sum(probabilities, axis=-1) - 1)) < 1e-5)
        True

    Source: Sutskever et al. 2014, arXiv:1409.3215, 3.6. The mean is that of probabilities, as in
    fairseq, not of log-probabilities, as in Marian.
    """

    def __init__(self, models, **kwargs):
        models = list(models) if isinstance(models, Sequence) else [models]
        if models:
            kwargs.setdefault("dtype", getattr(models[0], "dtype_policy", None))
        super().__init__(**kwargs)
        _check(models)
        self.models = models
        self.grid = getattr(models[0], "grid", None)
        self.casts_uniformly = all(getattr(model, "casts_uniformly", False) for model in models)
        if all(hasattr(model, "shown_weights") for model in models):
            self.shown_weights = f"mean over {len(models)} models"

    @property
    def decoder(self):
        """The decoders of the models, as one."""
        return _Decoders(self.models)

    def build(self, input_shape=None):
        for model in self.models:
            if not model.built:
                model.build()

    def call(self, batch, training=None):
        outputs = [model(batch, training=training) for model in self.models]
        logits = _mixed([output[LOGITS] for output in outputs])
        return {
            LOGITS: carry_mask(logits, ops.not_equal(batch[TOKENS], PAD_ID)),
            WEIGHTS: _mean([output[WEIGHTS] for output in outputs]),
        }

    def input_signature(self):
        return self.models[0].input_signature()

    def start(self, context, length):
        """Stepper: memories and states of the models, which take the context alike."""
        return tuple(zip(*(model.start(context, length) for model in self.models)))

    def followers(self, fields, mask):
        """See `HybridAttention.followers`: mean of the models' link matrices, of `DataToText`."""
        return _mean([model.followers(fields, mask) for model in self.models])


class _Decoders(NamedTuple):
    """The decoders of several models as one. Memories and states are tuples by model."""

    models: Sequence[Any]

    @property
    def compute_dtype(self):
        """That of the decoders."""
        return self.models[0].decoder.compute_dtype

    def step(self, tokens, memory, state):
        return _joined(model.step(tokens, *own) for model, *own in zip(self.models, memory, state))

    def prefill(self, prefix, memory, state):
        return _joined(
            model.prefill(prefix, *own) for model, *own in zip(self.models, memory, state)
        )

    def widen(self, state, width):
        return tuple(model.widen(own, width) for model, own in zip(self.models, state))

    def reorder(self, state, parents):
        return tuple(model.reorder(own, parents) for model, own in zip(self.models, state))


def _check(models):
    """Raises ValueError unless the models can answer together."""
    if len({id(model) for model in models}) < max(2, len(models)):
        raise ValueError(f"Expected two or more different models. Received: {models!r}")
    for model in models:
        if not isinstance(model, SourceTarget | DataToText | Captioner):
            raise ValueError(
                "Expected single models from texts or facts to texts, or captioners. "
                f"Received: {model!r}"
            )
    first = _inputs(models[0])
    for model in models[1:]:
        if (inputs := _inputs(model)) != first:
            raise ValueError(
                f"Expected models with the same inputs. Received: {models[0].name} with {first}, "
                f"{model.name} with {inputs}"
            )


def _inputs(model):
    """The inputs of a model, and the places that it attends to in a picture, as text."""
    shapes = {key: (spec.dtype, spec.shape) for key, spec in model.input_signature().items()}
    if not isinstance(model, Captioner):
        return f"{shapes}"
    return f"{shapes}, a grid of {model.grid} and {model.feature_shape[0]} places"


def _joined(results):
    """`StepResult`s of several models as one."""
    logits, states, weights = zip(*results)
    return StepResult(_mixed(logits), states, _mean(weights))


def _mixed(logits):
    """Logits (..., V) of several models to log-probabilities of the mean of their distributions."""
    sizes = [part.shape[-1] for part in logits]
    if len({*sizes}) > 1:
        raise ValueError(f"Expected models with one vocabulary. Received: {sizes} tokens")
    parts = ops.stack([log_probabilities(part) for part in logits])
    return ops.logsumexp(parts, axis=0) - math.log(len(logits))


def _mean(parts):
    return ops.mean(ops.stack(parts), axis=0)
