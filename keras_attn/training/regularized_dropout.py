"""R-Drop: two passes with different dropout have to answer alike."""

import keras
from keras import ops
from keras.src import backend  # Keras' masks have no public functions.

from keras_attn.contracts import LOGITS
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import global_mean
from keras_attn.ops.symmetric_divergence import symmetric_divergence
from keras_attn.training.losses import as_wide
from keras_attn.training.training_stage import TrainingStage

AGAIN = "again_"


@keras.saving.register_keras_serializable(package="keras_attn")
class RegularizedDropout(TrainingStage):
    """Every batch passes twice under different dropout, and the answers are drawn together.

        loss = (L(p) + L(q)) / 2 + α/4 · (KL(p‖q) + KL(q‖p))

    p and q are the distributions of the two passes and L is the compiled loss; the divergence is a
    mean over the tokens, weighted as they are. A training step costs about twice as much; without
    any dropout it is an ordinary one. This is half the paper's objective, so that the loss can be
    compared with that of ordinary training.

    Args:
        model: see `TrainingStage`.
        weight: float > 0. α; the paper has 5 for translation, 0.5 to 1 for classification.

    Raises:
        ValueError: a weight that is not positive, or no model of an encoder and a decoder.

    Example:
        >>> from keras_attn.models import Transformer
        >>> from keras_attn.training.losses import TokenCrossEntropy
        >>> model = Transformer(vocabulary_size=13, num_layers=1, hidden_dim=6, dropout=0.1)
        >>> stage = RegularizedDropout(model, weight=5.0)
        >>> stage.compile("adam", TokenCrossEntropy())

    `stage.fit` trains `model` itself.

    Source: Wu et al. 2021 (R-Drop), arXiv:2106.14448, 2.1.
    """

    def __init__(self, model, weight=5.0, **kwargs):
        super().__init__(model, **kwargs)
        if not 0 < weight < float("inf"):
            raise ValueError(f"Expected weight > 0 and finite. Received: weight={weight}")
        self.weight = weight

    def trained(self, batch, step):
        """See `TrainingStage`: the outputs of both passes, those of the second named so."""
        twice = keras.tree.map_structure(lambda part: ops.concatenate([part, part]), batch)
        outputs = self.model(twice, training=True)
        first, second = {}, {}
        for name, output in outputs.items():
            first[name], second[AGAIN + name] = _halves(output)
        return {**first, **second}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The mean loss of both passes and their divergence; in validation the compiled loss."""
        first, second = _passes(y_pred)
        loss = super().compute_loss(x, y, first, sample_weight, training)
        if not second:
            return loss
        again = super().compute_loss(x, y, second, sample_weight, training)
        names = list(y) if isinstance(y, dict) else [LOGITS]
        weights = self.model.for_samples(first, sample_weight)
        apart = sum(self._apart(name, first, second, weights) for name in names)
        return (loss + again) / 2 + self.weight / 4 * apart

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """The compiled metrics of the first pass."""
        return super().compute_metrics(x, y, _passes(y_pred)[0], sample_weight)

    def _apart(self, name, first, second, sample_weight):
        """This replica's share of the mean divergence of one output."""
        logits, others = (ops.cast(outputs[name], "float32") for outputs in (first, second))
        values = symmetric_divergence(logits, others)
        weights = sample_weight[name] if isinstance(sample_weight, dict) else sample_weight
        weights = ops.ones_like(values) if weights is None else as_wide(weights, values)
        mask = backend.get_keras_mask(first[name])
        return global_mean(values, zero_masked(weights, mask))


def _halves(output):
    """The rows of both passes, each with its part of the mask."""
    rows, mask = ops.shape(output)[0] // 2, backend.get_keras_mask(output)
    halves = output[:rows], output[rows:]
    if mask is not None:
        backend.set_keras_mask(halves[0], mask[:rows])
        backend.set_keras_mask(halves[1], mask[rows:])
    return halves


def _passes(outputs):
    """The outputs of the first pass, and those of the second under the same names."""
    first = {name: output for name, output in outputs.items() if not name.startswith(AGAIN)}
    second = {name: outputs[AGAIN + name] for name in first if AGAIN + name in outputs}
    return first, second
