"""What models of an encoder and a step-by-step decoder have in common."""

import keras

from keras_attn.contracts import LOGITS


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


class EncoderDecoder(StepsOfDecoder, keras.Model):
    """Abstract: a `Stepper` that hands its steps to its `decoder`, which is one.

    Subclasses set `decoder`, answer a call with a dict that has LOGITS, and have `start`. What is
    compiled for LOGITS gets them alone; a dict of targets gets the outputs of the same keys.
    """

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The compiled loss of what there are targets for."""
        return super().compute_loss(x, y, _aimed(y, y_pred), sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """The compiled metrics of what there are targets for."""
        return super().compute_metrics(x, y, _aimed(y, y_pred), sample_weight)


def _aimed(targets, outputs):
    """The outputs that targets stand against."""
    if isinstance(targets, dict):
        return {key: outputs[key] for key in targets}
    return outputs[LOGITS]
