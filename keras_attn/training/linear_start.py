"""The end of a memory network's linear start."""

import keras
from keras import ops

from keras_attn.models.memory.question_answerer import QuestionAnswerer


class LinearStart(keras.callbacks.Callback):
    """Puts the softmax into a memory network's hops after some epochs.

    Either once the validation loss has stopped falling, as in the paper, or after a fixed number
    of epochs, which noisy training sets need.

    What it decides is held in variables of the model, so a `Checkpoint` resumes it exactly and a
    saved model answers as it did on dev. Stands after `BestModel`, which saves the model that was
    scored.

    Args:
        answerer: `QuestionAnswerer` whose memory has a linear start.
        patience: int ≥ 1. Epochs without a lower loss after which the linear start ends, if
            `epochs` is None.
        epochs: int ≥ 1, or None. Epochs after which it ends instead.

    Raises:
        ValueError: another model; patience or epochs < 1; without epochs, an epoch without a
            val_loss.

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, 4.2. Differs: patience.
    """

    changes_model = True

    def __init__(self, answerer, patience=1, epochs=None):
        super().__init__()
        if not self.suits(answerer):
            raise ValueError(
                "Expected a QuestionAnswerer whose memory has a linear start. "
                f"Received: {answerer!r}"
            )
        if patience < 1:
            raise ValueError(f"Expected patience >= 1. Received: patience={patience}")
        if epochs is not None and epochs < 1:
            raise ValueError(f"Expected epochs >= 1, or None. Received: epochs={epochs}")
        self.answerer, self.patience, self.epochs = answerer, patience, epochs

    @staticmethod
    def suits(model) -> bool:
        """Whether a model is a `QuestionAnswerer` with a linear start."""
        return isinstance(model, QuestionAnswerer) and model.memory.linear_start

    def on_epoch_end(self, epoch, logs=None):
        if not _number(self.answerer.memory.linear):
            return
        if self.epochs is not None:
            if epoch + 1 >= self.epochs:
                self._end(epoch)
            return
        if "val_loss" not in (logs or {}):
            raise ValueError(f"Expected a val_loss in the logs. Received: {sorted(logs or {})}")
        loss = float(logs["val_loss"])
        waited = (
            0
            if loss < _number(self.answerer.lowest_loss)
            else round(_number(self.answerer.epochs_waited)) + 1
        )
        self.answerer.epochs_waited.assign(waited)
        if not waited:
            self.answerer.lowest_loss.assign(loss)
        elif waited >= self.patience:
            self._end(epoch)

    def _end(self, epoch):
        self.answerer.memory.end_linear_start()
        print(f"linear start: ends after epoch {epoch + 1}, the softmax is put in")


def _number(variable):
    """A scalar variable's value, of whichever replicas."""
    return float(ops.convert_to_numpy(variable))
