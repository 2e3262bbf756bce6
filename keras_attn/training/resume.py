"""Checkpoints of interrupted training: one file with everything that resuming needs."""

import json
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import keras
import numpy as np

from keras_attn.training.workers import Workers
from keras_attn.untrusted import naming_damage, parse_json, read_arrays
from keras_attn.whole_file import whole_file

STATE, METRIC = "state", "metric "


class Resumable(Protocol):
    """A callback whose state a `Checkpoint` saves.

    The files that it writes count only once the checkpoint with its state has been saved. Until
    then a killed training resumes from the previous state, so its files must not be deleted.
    """

    resumable: bool
    """Whether a `Checkpoint` saves the state; it sets this to True."""

    def state(self) -> Any:
        """The decisions so far, as JSON values."""

    def restore(self, state: Any) -> None:
        """Restores what `state` returned; None if training starts from scratch.

        Raises:
            ValueError: one of its files is missing or damaged.
        """

    def saved(self) -> None:
        """Deletes files that only earlier states needed; called after each save."""


class Checkpoint(keras.callbacks.Callback):
    """Saves a training every so often and after each epoch, and brings it back.

    Saved are the model's variables (dropout's random states among them), the optimizer's, whose
    `iterations` count the steps done, what metrics have added up in an epoch that is not finished,
    and what other callbacks have decided: with data that are a function of the step, training that
    was stopped anywhere goes on as if it had not been. The file is replaced in one move; whatever
    callbacks wrote since the last save does not count until then. Stands last among the callbacks.
    An epoch's last step is saved with the epoch's end, after validation. Where training goes on
    within an epoch, the model's metrics have to be there: evaluate it on a batch before.

    Args:
        path: of the file, `.npz`.
        seconds: float ≥ 0. Least time between two saves within an epoch.
        keeps: callbacks whose state is saved as well, such as `BestModel`, `AverageModel` and
            `EpochLog`; see `Resumable`.
        steps_per_epoch: int, where a call of `fit` may begin or end within an epoch; None where
            calls have whole epochs only.
        workers: `Workers` that train together, of which each has this callback; None for one
            process. The chief reads and writes the file, and tells the others what it read and
            whether training stops.

    Attributes:
        step: int. Steps done when the file was last saved or restored.

    Raises:
        ValueError: two callbacks of the same class, or one without a state.
        OSError: the file cannot be written (a full disk, say); the one before is untouched.
    """

    changes_model = False

    def __init__(
        self,
        path,
        seconds=60.0,
        keeps: Sequence[Resumable] = (),
        steps_per_epoch: int | None = None,
        workers: Workers | None = None,
    ):
        super().__init__()
        self.workers = Workers() if workers is None else workers
        self.path, self.seconds, self.steps_per_epoch = Path(path), seconds, steps_per_epoch
        self.keeps = {type(callback).__name__: callback for callback in keeps}
        if len(self.keeps) < len(keeps) or not all(hasattr(part, "saved") for part in keeps):
            raise ValueError(
                "Expected callbacks with a state, one of each class, see Resumable. "
                f"Received: keeps={[type(callback).__name__ for callback in keeps]}"
            )
        for callback in keeps:
            callback.resumable = True
        self.sums: dict[str, Any] | None = None
        self.step = 0
        self.saved = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        if self.sums is None:
            return
        variables = _metrics(self.model)
        if missing := sorted(set(self.sums) - set(variables)):
            raise ValueError(
                f"Expected metrics as {self.path} has them of the epoch that was begun. Received: "
                f"none with {missing[0]}; a model has its metrics once it was evaluated on a batch"
            )
        for name, value in self.sums.items():
            variables[name].assign(value)
        self.sums = None

    def on_train_batch_end(self, batch, logs=None):
        last = self.params.get("steps")
        within = last is not None and batch + 1 < last
        if within and self.workers.told(time.monotonic() - self.saved >= self.seconds):
            self.save(self.model, within=True)

    def on_epoch_end(self, epoch, logs=None):
        within = self.steps_per_epoch is not None and _step(self.model) % self.steps_per_epoch > 0
        self.sums = self.save(self.model, within) or None
        self.model.stop_training = self.workers.told(self.model.stop_training)

    def save(self, model, within=False):
        """Writes the file; on workers other than the chief, only takes part in reading metrics.

        Args:
            model: compiled `keras.Model`.
            within: bool. Whether the current epoch is unfinished.

        Returns:
            dict of arrays: the metrics' variables if `within`, otherwise empty.
        """
        variables = _metrics(model) if within else {}
        sums = {name: np.array(keras.ops.convert_to_numpy(v)) for name, v in variables.items()}
        if self.workers.is_chief:
            self._write(model, sums)
        self.saved = time.monotonic()
        return sums

    def _write(self, model, sums):
        """Writes the file and tells the callbacks."""
        arrays = {name: keras.ops.convert_to_numpy(value) for name, value in _variables(model)}
        arrays |= {METRIC + name: value for name, value in sums.items()}
        decided = {name: callback.state() for name, callback in self.keeps.items()}
        state = np.frombuffer(json.dumps(decided).encode(), np.uint8)
        try:
            with whole_file(self.path) as partial, partial.open("wb") as file:
                np.savez(file, **arrays, **{STATE: state})
        except OSError as error:
            size = sum(array.nbytes for array in arrays.values()) / 1e6
            raise OSError(
                f"Expected to write a checkpoint of {size:.1f} MB to {self.path}. "
                f"Received: {error}; the checkpoint before, if any, is untouched"
            ) from error
        self.step = _step(model)
        for callback in self.keeps.values():
            callback.saved()

    def restore(self, model) -> int:
        """Puts back what was saved, if anything.

        Args:
            model: built and compiled `keras.Model`, the same as when it was saved.

        Returns:
            steps done, 0 where there is no file.

        Raises:
            ValueError: the file is damaged or belongs to another model or other callbacks, or a
                callback's file is missing or damaged.
        """
        model.optimizer.build(model.trainable_variables)
        arrays = self.workers.told_arrays(self._read(model) if self.workers.is_chief else {})
        if not arrays:
            return 0
        for name, variable in _variables(model):
            variable.assign(arrays[name])
        sums = {
            name.removeprefix(METRIC): array
            for name, array in arrays.items()
            if name.startswith(METRIC)
        }
        self.sums, self.step = sums or None, _step(model)
        return self.step

    def _read(self, model):
        """What the file holds, by name, once the callbacks have theirs; empty without a file."""
        if not self.path.is_file():
            for callback in self.keeps.values():
                callback.restore(None)
            return {}
        variables = _variables(model)
        with naming_damage(
            f"a checkpoint at {self.path}",
            "a damaged file, or one of an earlier version (delete it to start over)",
        ):
            arrays = read_arrays(self.path)
            state = parse_json(arrays.pop(STATE).tobytes())
        metrics = [name for name in arrays if name.startswith(METRIC)]
        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        wrong = {name for name, variable in variables if shapes.get(name) != variable.shape}
        names = set(state) if isinstance(state, dict) else {"its state"}
        if wrong or len(arrays) != len(variables) + len(metrics) or names != set(self.keeps):
            wrong |= names ^ set(self.keeps)
            raise ValueError(
                f"Expected the checkpoint {self.path} of this model and its callbacks. "
                f"Received: one of another, which differs in {sorted(wrong)[:3]}"
            )
        for name, callback in self.keeps.items():
            with naming_damage(
                f"the state of {name} in the checkpoint {self.path}", f"{state[name]!r:.80}"
            ):
                callback.restore(state[name])
        return arrays


def read_states(path) -> dict[str, Any]:
    """The states of callbacks that a checkpoint holds, by class name; none without a file.

    Raises:
        ValueError: a damaged file.
    """
    if not Path(path).is_file():
        return {}
    with naming_damage(f"a checkpoint at {path}"), np.load(path, allow_pickle=False) as archive:
        states = parse_json(archive[STATE].tobytes())
    return states if isinstance(states, dict) else {}


def _step(model):
    return int(keras.ops.convert_to_numpy(model.optimizer.iterations))


def _variables(model):
    """(name, variable) of all that changes in training."""
    variables = [(f"model {i}", variable) for i, variable in enumerate(model.variables)]
    return variables + [
        (f"optimizer {i}", variable) for i, variable in enumerate(model.optimizer.variables)
    ]


def _metrics(model):
    """The variables of a model's metrics by their paths; of equal ones, in their order."""
    variables: dict[str, Any] = {}
    for variable in model.metrics_variables:
        place = sum(name.startswith(f"{variable.path} ") for name in variables)
        variables[f"{variable.path} {place}"] = variable
    return variables


def is_checkpoint(path) -> bool:
    """Whether a `Checkpoint` wrote a file."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return f"{STATE}.npy" in archive.namelist()
