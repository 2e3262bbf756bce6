"""Base of models with an encoder and a step-by-step decoder."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import LOCATIONS, LOGITS, PAD_ID, TOKENS, WEIGHTS
from keras_attn.layers.location_sampler import for_samples
from keras_attn.models.base_model import BaseModel
from keras_attn.ops.compiled import CompiledFunctions
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import global_mean


class CrossWeights(NamedTuple):
    """The attention weights of a batch, where only the decoder attends, to the encoder's output.

    Attributes:
        cross: tuple by layer of float32 (B, H, T, S), H 1 where a layer has no heads.
    """

    cross: Any


class EncoderDecoder(BaseModel):
    """Abstract: a `Stepper` that delegates its steps to its `decoder`.

    Subclasses set `decoder`, return a dict with LOGITS from the call, and define `start`. A single
    target belongs to LOGITS; a dict of targets to the outputs of the same keys.
    """

    attention_penalty: float = 0.0
    """λ of Σ_s (1 − Σ_t α_ts)² / S, which a model of captions adds to the loss."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._functions = CompiledFunctions(self)

    def __call__(self, batch, *args, **kwargs):
        expected = f"Expected a dict with {' and '.join(map(repr, self.input_signature()))}"
        if not isinstance(batch, Mapping):  # TensorFlow passes a tensor when it saves a model.
            raise TypeError(f"{expected}. Received: {type(batch).__name__}")
        if TOKENS not in batch:
            raise ValueError(f"{expected}. Received: keys {list(batch)}")
        return super().__call__(batch, *args, **kwargs)

    def generate(self, inputs, strategy, max_length=64, **options):
        """Generates answers token by token.

        Args:
            inputs: what `start` takes, B examples.
            strategy: of `keras_attn.decoding`, such as `Greedy()` or `Beam(4)`.
            max_length: int ≥ 1. Maximum length in tokens, END_ID included.
            **options: of `keras_attn.decoding.decode`.

        Returns:
            `DecodeResult`. An answer without END_ID was truncated at max_length.

        Raises:
            ValueError: not a strategy, or as `decode`.
        """
        if isinstance(strategy, type) or not hasattr(strategy, "run"):
            raise ValueError(
                "Expected a strategy of keras_attn.decoding, such as Greedy() or Beam(4). "
                f"Received: {strategy!r}"
            )
        if not self.built:
            self.build()
        return strategy.run(self, inputs, max_length, self._functions, **options)

    def step(self, tokens, memory, state):
        """Stepper: the decoder's step."""
        return self.decoder.step(tokens, memory, state)

    def prefill(self, prefix, memory, state):
        """Stepper: the decoder's prefill."""
        return self.decoder.prefill(prefix, memory, state)

    def widen(self, state, width):
        """Stepper: the decoder's state, widened."""
        return self.decoder.widen(state, width)

    def reorder(self, state, parents):
        """Stepper: the decoder's state, reordered."""
        return self.decoder.reorder(state, parents)

    def float32_layers(self):
        """Layers that compute in float32 under any precision: that of the logits."""
        logits = getattr(self.decoder, "logits", None)
        return [logits] if isinstance(logits, keras.layers.Layer) else []

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The compiled loss of the outputs with targets, the attention's penalty and the loss of
        the locations that an attention samples in training."""
        y, sample_weight = self.for_samples(y_pred, (y, sample_weight))
        loss = super().compute_loss(x, y, _aimed(y, y_pred), sample_weight, training)
        if self.attention_penalty:
            tokens = self.for_samples(y_pred, x[TOKENS])
            loss = loss + self.attention_penalty * _unevenness(tokens, y_pred[WEIGHTS])
        if LOCATIONS in y_pred:
            loss = loss + _location_loss(self.decoder.attention.sampler, y, y_pred)
        return loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """The compiled metrics of the outputs with targets."""
        y, sample_weight = self.for_samples(y_pred, (y, sample_weight))
        return super().compute_metrics(x, y, _aimed(y, y_pred), sample_weight)

    def for_samples(self, outputs, tensors):
        """Targets, tokens or weights of sequences, once for each sample of their locations.

        Args:
            outputs: dict, of the call.
            tensors: structure of tensors that lead as the tokens do, or None.
        """
        if LOCATIONS not in outputs:
            return tensors
        return for_samples(self.decoder.attention, tensors, len(outputs[LOGITS].shape) - 3)


def _aimed(targets, outputs):
    """The outputs that have targets."""
    if isinstance(targets, dict):
        return {key: outputs[key] for key in targets}
    return outputs[LOGITS]


def _unevenness(tokens, weights):
    """This replica's share of the mean of Σ_s (1 − Σ_t α_ts)² / S over captions (..., T)."""
    looked_at = ops.sum(zero_masked(weights, tokens != PAD_ID), axis=-2)
    penalty = ops.mean(ops.square(1.0 - looked_at), axis=-1)
    captions = ops.cast(ops.any(tokens != PAD_ID, axis=-1), "float32")
    return global_mean(penalty, captions)


def _location_loss(sampler, targets, outputs):
    """The loss of sampled locations, of targets (B, T) or (B, C, T)."""

    def rows(part, axes):
        return ops.reshape(part, (-1, *ops.shape(part)[-axes:]))

    logits, weights = (rows(outputs[key], 2) for key in (LOGITS, WEIGHTS))
    return sampler.loss(rows(targets, 1), logits, weights, rows(outputs[LOCATIONS], 1))
