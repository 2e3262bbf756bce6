"""Callbacks: free-running answers scored, the best model, attention in TensorBoard."""

import csv
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_attn.decoding import Greedy
from keras_attn.evaluation.caption_metrics import caption_metrics
from keras_attn.evaluation.tokenization import AUTO
from keras_attn.lazy_tensorflow import tf
from keras_attn.ops.compiled import CompiledFunctions, compiled
from keras_attn.progress import Progress
from keras_attn.training.training_stage import trained_model
from keras_attn.untrusted import check_types
from keras_attn.whole_file import (
    digest_of,
    move_pending,
    pending_path,
    settle_file,
    whole_file,
    write_pending,
)


def better_direction(monitor):
    """ "min" for losses and perplexities, "max" for everything else."""
    return "min" if monitor.endswith(("loss", "perplexity")) else "max"


class GenerationMetrics(keras.callbacks.Callback):
    """Scores free-running greedy answers after each epoch; adds `val_…` to the logs.

    Keys: those of `metrics`. By default the answers are captions, and the keys those of
    `caption_metrics` (METEOR left out) and val_exact, the share of captions equal to a reference.
    Stands before callbacks that monitor them.

    Args:
        stepper: `Stepper` whose `start` takes what `contexts` yields.
        contexts: iterable of tensors (B, ...), or structures of them, of few shapes; rows past the
            references are padding.
        tokenizer: `Tokenizer`.
        references: list, for each row its reference captions, or what `metrics` takes.
        max_length: int, tokens, or a function from what `contexts` yields to an int32 scalar.
        metrics: function (texts, references) -> dict, or None for captions.
        tokenization: of captions, see `caption_metrics`.
    """

    changes_model = False

    def __init__(
        self,
        stepper,
        contexts,
        tokenizer,
        references,
        max_length,
        metrics=None,
        tokenization=AUTO,
    ):
        super().__init__()
        self.contexts, self.references, self.tokenization = contexts, references, tokenization
        self.tokenizer, self.metrics = tokenizer, metrics or self._caption_metrics
        self.texts = None

        def generate(context):
            length = max_length(context) if callable(max_length) else max_length
            answer = Greedy().run(stepper, context, length, functions, with_weights=False)
            return answer.tokens[:, 0]

        functions = CompiledFunctions(stepper)  # By length, which JAX has to know.
        tensorflow = keras.backend.backend() == "tensorflow"
        self.generate = compiled(generate, stepper) if tensorflow else generate

    def on_epoch_end(self, epoch, logs=None):
        texts: list[str] = []
        with Progress("scoring answers"):
            for rows in self.contexts:
                tokens = ops.convert_to_numpy(self.generate(rows))
                texts += self.tokenizer.decode_all(tokens)
        self.texts = texts[: len(self.references)]
        scores = self.metrics(self.texts, self.references)
        logs.update({f"val_{key}": value for key, value in scores.items()})

    def standard_errors(self, samples=30, seed=0) -> dict[str, float]:
        """Standard errors of the latest scores, by bootstrap (Efron 1979).

        Args:
            samples: int. How often as many answers are drawn with replacement.
            seed: int.

        Raises:
            RuntimeError: nothing has been scored yet.
        """
        if self.texts is None:
            raise RuntimeError(
                "Expected standard_errors after an epoch has been scored (on_epoch_end). "
                "Received: no scores yet"
            )
        random, count = np.random.default_rng(seed), len(self.texts)
        scores = [
            self.metrics([self.texts[row] for row in rows], [self.references[row] for row in rows])
            for rows in random.integers(count, size=(samples, count))
        ]
        return {f"val_{key}": float(np.std([score[key] for score in scores])) for key in scores[0]}

    def _caption_metrics(self, texts, references):
        scores = caption_metrics(texts, references, meteor=False, tokenization=self.tokenization)
        exact = [
            text in self.tokenizer.normalize_all(accepted)
            for text, accepted in zip(texts, references)
        ]
        return {**scores, "exact": float(np.mean(exact))}


class BestModel(keras.callbacks.Callback):
    """Keeps the model with the best value of a metric in one file, replaced in one move.

    While the metric has had the same value in every epoch, other than its best possible one, it
    cannot select a model: a warning says so, the model with the best loss (`val_loss` where there
    is one) is kept, and patience does not end training. Once the metric changes, it selects the
    model, and patience counts from the epoch that is kept.

    If a `Checkpoint` saves its state, the best model and the patience survive a restart: a better
    model waits in the folder `.new-NAME` and replaces the file once the checkpoint has been saved.

    Args:
        path: of the `.keras` file.
        monitor: key of the logs.
        patience: int or None. Epochs without a better value after which training stops.
        best_possible: float, the best value that the metric can have; None for 0 of a loss, and 1
            of others. Of a metric whose best value is 0, as of a loss, the smallest value is best.

    Attributes:
        best: float or None, the best value so far.
        best_epoch: int, its epoch, counted from 1; 0 for none.
        loss: (name, value) of the loss of that epoch; None for none.
        constant_epochs: int, number of epochs, all so far, in which the metric had one value; None
            once it has changed.
        stopped: bool, whether patience ended training.

    Raises:
        ValueError: a monitor that is not in the logs; on restoring, a file that is missing or not
            the one that was kept.
    """

    changes_model = False

    def __init__(self, path, monitor, patience=None, best_possible=None):
        super().__init__()
        self.path, self.monitor, self.patience = Path(path), monitor, patience
        self.rises = better_direction(monitor) == "max" and best_possible != 0
        self.best_possible = float(self.rises) if best_possible is None else best_possible
        self.resumable, self.best, self.best_epoch, self.loss = False, None, 0, None
        self.digest, self.stopped, self.constant_epochs = None, False, 0

    @property
    def constant(self):
        """Whether the metric has had one value in two epochs or more, and not its best one."""
        if not self.constant_epochs or self.constant_epochs < 2:
            return False
        return not np.isclose(self.best, self.best_possible, rtol=1e-6, atol=1e-9)

    @property
    def selected_by(self):
        """(name, value) of what selected the best epoch: the monitor, or the loss."""
        return self.loss if self.constant else (self.monitor, self.best)

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor not in logs:
            raise ValueError(
                f"Expected a monitor of {sorted(logs)}. Received: monitor={self.monitor!r}"
            )
        if self.consider(logs, epoch + 1):
            return
        waited = self.patience is not None and epoch + 1 - self.best_epoch >= self.patience
        if waited and not self.constant:
            self.model.stop_training = self.stopped = True

    def consider(self, logs, epoch):
        """Keeps the current model if it is better than the best so far; returns whether it is.

        Args:
            logs: dict with the monitor.
            epoch: its epoch, counted from 1, or another name.
        """
        value, loss = float(logs[self.monitor]), _loss(logs)
        if self.constant_epochs is not None:
            self.constant_epochs = (
                self.constant_epochs + 1 if not self.constant_epochs or value == self.best else None
            )
        if self.constant and self.constant_epochs == 2:
            print(
                f"warning: {self.monitor} was {value:g} in both epochs so far and cannot tell "
                f"them apart; until it changes, the epoch with the best {loss[0]} is kept, and "
                "patience does not end training"
            )
        better = self._better(value, loss)
        if better:
            self._keep(value, loss, epoch)
        return better

    def _better(self, value, loss):
        """Whether an epoch is better than the best so far; NaN never is."""
        if self.best is None:
            return not np.isnan(value)
        if self.constant and value == self.best:
            return loss[1] < self.loss[1]
        return value > self.best if self.rises else value < self.best

    def _keep(self, value, loss, epoch):
        self.best, self.loss, self.best_epoch = value, loss, epoch
        with write_pending(self.path) as partial:
            trained_model(self.model).save(partial)
        self.digest = digest_of(pending_path(self.path))
        if not self.resumable:
            self.saved()

    def state(self):
        names = ("best", "best_epoch", "loss", "constant_epochs", "digest", "stopped")
        return {name: getattr(self, name) for name in names}

    def restore(self, state):
        """See `Resumable`; in a state of an earlier version the metric counts as changed."""
        if state is not None:
            state = {"loss": None, "constant_epochs": None, **state}
            check_types(state, best=float | None, best_epoch=int | str, loss=list | tuple | None)
            check_types(state, constant_epochs=int | None, digest=str | None, stopped=bool)
            if state["loss"] is not None:
                name, value = state["loss"]
                check_types({"name": name, "loss": value}, name=str, loss=float)
            for name in self.state():
                setattr(self, name, state[name])
        settle_file(self.path, self.digest)

    def saved(self):
        move_pending(self.path)


class EpochLog(keras.callbacks.Callback):
    """Writes a CSV file with a row for each epoch; epochs count from 1.

    If a `Checkpoint` saves its state, a resumed training has the rows of an uninterrupted one. The
    file is replaced in one move.

    Args:
        path: of the file.
        notes: dict of texts that each row repeats in its last columns, by the column's name.
    """

    changes_model = False

    def __init__(self, path, notes=None):
        super().__init__()
        self.path, self.resumable, self.rows, self.notes = Path(path), False, [], notes or {}

    def on_epoch_end(self, epoch, logs=None):
        values = {name: float(value) for name, value in (logs or {}).items()}
        self.rows.append({"epoch": epoch + 1, **values, **self.notes})
        if not self.resumable:
            self.saved()

    def state(self):
        return self.rows

    def restore(self, state):
        self.rows = [dict(row) for row in state or []]
        for row in self.rows:
            check_types(row, **dict.fromkeys({"epoch", *row}, int | float | str))
        self.saved()

    def saved(self):
        texts = {name: isinstance(row[name], str) for row in self.rows for name in row}
        names = sorted(texts, key=lambda name: (name != "epoch", texts[name], name))
        if not self.rows:
            return
        with whole_file(self.path) as partial, partial.open("w", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def _loss(logs):
    """(name, value) of the loss on dev, or in training where there is none on dev."""
    name = "val_loss" if "val_loss" in logs else "loss"
    return name, float(logs.get(name, "nan"))


class FiniteLoss(keras.callbacks.Callback):
    """Ends training at the first step or on the first dev whose loss is no number.

    Stands before callbacks that save anything.

    Raises:
        ValueError: in the callback, with the step and the epoch.
    """

    changes_model = False

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self._check("loss", logs)

    def on_epoch_end(self, epoch, logs=None):
        if "val_loss" in logs:
            self._check("val_loss", logs)

    def _check(self, name, logs):
        loss = float(logs[name])
        if not np.isfinite(loss):
            step = int(keras.ops.convert_to_numpy(self.model.optimizer.iterations))
            raise ValueError(
                f"Expected a finite loss. Received: {name}={loss} at step {step}, in epoch "
                f"{self.epoch + 1}; a lower learning rate or a smaller clip_norm may help. What "
                "earlier steps saved is untouched"
            )


class AttentionImages(keras.callbacks.Callback):
    """Writes pictures of where each word looked to TensorBoard, after each epoch.

    Args:
        draw: function () -> uint8 array (pictures, height, width, 3), of none, one or more.
        folder: log folder of TensorBoard.
    """

    changes_model = False

    def __init__(self, draw, folder):
        super().__init__()
        self.draw, self.folder = draw, str(folder)

    def on_epoch_end(self, epoch, logs=None):
        with tf.summary.create_file_writer(self.folder).as_default():
            pictures = self.draw()
            if len(pictures):
                tf.summary.image("attention", pictures, step=epoch, max_outputs=len(pictures))
