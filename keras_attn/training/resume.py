"""Interrupted training: everything that it needs to go on, in one file that is always whole."""

import os
import time
import zipfile
from pathlib import Path

import keras
import numpy as np


class Checkpoint(keras.callbacks.Callback):
    """Saves a training every so often and after each epoch, and brings it back.

    Saved are the model's variables (dropout's random states among them) and the optimizer's, whose
    `iterations` count the steps done: with data that are a function of the step, training that was
    stopped anywhere goes on as if it had not been. The file is replaced in one move, so that a
    process killed while it writes leaves the one before. Stands last among the callbacks: what
    others save of an epoch is there before the epoch counts as done.

    Args:
        path: of the file, `.npz`.
        seconds: float ≥ 0. Least time between two saves within an epoch.

    Raises:
        OSError: the file cannot be written (a full disk, say); the one before is untouched.
    """

    def __init__(self, path, seconds=60.0):
        super().__init__()
        self.path, self.seconds = Path(path), seconds
        self.saved = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if time.monotonic() - self.saved >= self.seconds:
            self.save(self.model)

    def on_epoch_end(self, epoch, logs=None):
        self.save(self.model)

    def save(self, model):
        """Writes the file."""
        arrays = {name: keras.ops.convert_to_numpy(value) for name, value in _variables(model)}
        partial = self.path.with_name(f"partial-{self.path.name}")
        try:
            with partial.open("wb") as file:
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            size = sum(array.nbytes for array in arrays.values()) / 1e6
            raise OSError(
                f"Expected to write a checkpoint of {size:.1f} MB to {self.path}. "
                f"Received: {error}; the checkpoint before, if any, is untouched"
            ) from error
        self.saved = time.monotonic()

    def restore(self, model) -> int:
        """Puts back what was saved, if anything.

        Args:
            model: built and compiled `keras.Model`, the same as when it was saved.

        Returns:
            steps done, 0 where there is no file.

        Raises:
            ValueError: the file is damaged or of another model.
        """
        model.optimizer.build(model.trainable_variables)
        if not self.path.is_file():
            return 0
        variables = _variables(model)
        try:
            with self.path.open("rb") as file, np.load(file) as saved:
                arrays = {name: saved[name] for name in saved.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"Expected a checkpoint at {self.path}. Received: a damaged file; "
                "without it training starts anew"
            ) from error
        wrong = {name for name, variable in variables if _shape(arrays, name) != variable.shape}
        if wrong or len(arrays) != len(variables):
            raise ValueError(
                f"Expected the checkpoint {self.path} of this model. "
                f"Received: one of another, which differs in {sorted(wrong)[:3]}"
            )
        for name, variable in variables:
            variable.assign(arrays[name])
        return int(keras.ops.convert_to_numpy(model.optimizer.iterations))


def _variables(model):
    """(name, variable) of all that changes in training."""
    own = [(f"model {i}", variable) for i, variable in enumerate(model.variables)]
    return own + [
        (f"optimizer {i}", variable) for i, variable in enumerate(model.optimizer.variables)
    ]


def _shape(arrays, name):
    return tuple(arrays[name].shape) if name in arrays else None
