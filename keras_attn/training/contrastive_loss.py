"""The loss of a dual encoder."""

import keras
from keras import ops

from keras_attn.ops.replicas import global_mean


@keras.saving.register_keras_serializable(package="keras_attn")
class ContrastiveLoss(keras.losses.Loss):
    """Mean cross-entropy of a picture's text among the batch's, and of a text's picture.

        loss = mean_i ½ (−Σ_j t_ij log softmax_j(s_ij) − Σ_j t_ij log softmax_j(s_ji))

    t_ij = 1/n where the pairs i and j, n in all for each i, are of one picture, else 0: captions of
    one picture in a batch are all right, and not each other's opposites. Where each picture is in a
    batch once, t is the identity and the loss CLIP's. Under a distribution strategy the texts of a
    replica are compared with its own pictures only.

    Call arguments:
        y_true: int (B,). The number of each pair's picture.
        y_pred: float (B, B). Logits s of a `DualEncoder`.
        sample_weight: float (B,). Of the pairs in the mean; each stays among the others' texts.

    Raises:
        ValueError: logits that are not square.

    Example:
        >>> loss = ContrastiveLoss()
        >>> float(loss(ops.array([7, 5]), ops.zeros((2, 2))))  # ln 2
        0.6931471824645996

    Source: Radford et al. 2021, arXiv:2103.00020, 2.3; several right answers Yang et al. 2022,
    arXiv:2204.03610, 3.2.
    """

    def __init__(self, name="contrastive_loss", **kwargs):
        super().__init__(name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = self.call(y_true, y_pred)
        weights = ops.ones_like(losses) if sample_weight is None else sample_weight
        return global_mean(losses, ops.reshape(weights, ops.shape(losses)))

    def call(self, y_true, y_pred):
        logits = ops.cast(y_pred, "float32")
        if len(logits.shape) != 2 or len({*logits.shape} - {None}) > 1:
            raise ValueError(
                "Expected logits (B, B) of as many texts as pictures. "
                f"Received: shape={tuple(logits.shape)}"
            )
        pictures = ops.reshape(ops.convert_to_tensor(y_true), (-1,))
        same = ops.cast(ops.equal(pictures[:, None], pictures[None]), "float32")
        targets = same / ops.sum(same, axis=-1, keepdims=True)
        losses = [
            ops.categorical_crossentropy(targets, each, from_logits=True)
            for each in (logits, ops.transpose(logits))
        ]
        return (losses[0] + losses[1]) / 2
