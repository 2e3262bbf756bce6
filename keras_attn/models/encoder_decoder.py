"""What models of an encoder and a step-by-step decoder have in common."""

from collections.abc import Mapping

import keras

from keras_attn.contracts import LOGITS, TOKENS
from keras_attn.models.base_model import BaseModel


class StepsOfDecoder:
    """Abstract: the part of a `Stepper` that a `decoder` inside, which is one, does for it."""

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


class EncoderDecoder(StepsOfDecoder, BaseModel):
    """Abstract: a `Stepper` that hands its steps to its `decoder`, which is one.

    Subclasses set `decoder`, answer a call with a dict that has LOGITS, and have `start`. A single
    target is compared with LOGITS; a dict of targets with the outputs of the same keys.
    """

    def __call__(self, batch, *args, **kwargs):
        expected = f"Expected a dict with {' and '.join(map(repr, self.input_signature()))}"
        if not isinstance(batch, Mapping):  # TensorFlow tries a tensor when it saves a model.
            raise TypeError(f"{expected}. Received: {type(batch).__name__}")
        if TOKENS not in batch:
            raise ValueError(f"{expected}. Received: keys {list(batch)}")
        return super().__call__(batch, *args, **kwargs)

    def generate(self, inputs, strategy, max_length=64, **options):
        """The model's own answers, generated token by token.

        Args:
            inputs: what `start` takes, B examples.
            strategy: of `keras_attn.decoding`, such as `Greedy()` or `Beam(4)`.
            max_length: int ≥ 1. Longest answer in tokens, END_ID included.
            **options: of `keras_attn.decoding.decode`.

        Returns:
            `DecodeResult`. An answer without END_ID was cut off at max_length.

        Raises:
            ValueError: no strategy; what `decode` refuses.
        """
        if isinstance(strategy, type) or not hasattr(strategy, "run"):
            raise ValueError(
                "Expected a strategy of keras_attn.decoding, such as Greedy() or Beam(4). "
                f"Received: {strategy!r}"
            )
        if not self.built:
            self.build()
        return strategy.run(self, inputs, max_length, **options)

    def float32_layers(self):
        """Layers that compute in float32 under any precision: that of the logits."""
        logits = getattr(self.decoder, "logits", None)
        return [logits] if isinstance(logits, keras.layers.Layer) else []

    def added_loss(self, x, y, y_pred):
        """What is added to the compiled loss; None is nothing."""
        return None

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The compiled loss of what there are targets for, and `added_loss`."""
        loss = super().compute_loss(x, y, _aimed(y, y_pred), sample_weight, training)
        added = self.added_loss(x, y, y_pred)
        return loss if added is None else loss + added

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """The compiled metrics of what there are targets for."""
        return super().compute_metrics(x, y, _aimed(y, y_pred), sample_weight)


def _aimed(targets, outputs):
    """The outputs that targets stand against."""
    if isinstance(targets, dict):
        return {key: outputs[key] for key in targets}
    return outputs[LOGITS]
