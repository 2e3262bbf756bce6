"""Averaged weights: the mean of a model's weights at several moments of its training."""

import contextlib
from pathlib import Path

import keras
import numpy as np

from keras_attn.layers.projections import merge_lora
from keras_attn.training.callbacks import better_direction
from keras_attn.training.model_file import read_model_file
from keras_attn.training.training_stage import trained_model
from keras_attn.untrusted import DamagedFileError, check_types, naming_damage, read_arrays
from keras_attn.whole_file import is_marked, make_marked_folder, mark, remove_marked, whole_file

SNAPSHOT = "[0-9]" * 9 + ".npz"
"""Pattern of the names of snapshots."""


class AverageModel(keras.callbacks.Callback):
    """Keeps the model whose weights are the mean of those of the last, or the best, n moments.

    Moments are the ends of epochs or, with `every`, each so many steps; the model's own weights
    stay as they are. At the end of each epoch the mean replaces the file in one move. What it is
    the mean of lies in the folder `snapshots` beside it, a whole file each, named by the step. With
    a `Checkpoint` that keeps its state, a stopped training ends with the mean of one that was not.

    Stands before `Checkpoint`, after callbacks whose metrics it monitors, and only where a call of
    `fit` ends with an epoch; with `every`, in all calls of `fit`. `clear` drops the snapshots.

    Args:
        path: of the `.keras` file; None if only `mean` is used, then `folder` is required.
        count: int ≥ 1. n.
        every: int ≥ 1 or None, in optimizer steps.
        monitor: key of the logs by which the n best epochs are chosen; None for the last n.
        folder: path of the snapshots' folder, new or of an earlier training, whose snapshots are
            deleted; None for a folder beside the file.

    Raises:
        ValueError: a number < 1; `every` together with `monitor`; neither path nor folder; while
            training, a monitor that is not in the logs, a snapshot that is missing, damaged or of
            another model.
        OSError: a file cannot be written; what was there is untouched.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 6.1 (the last 5 for base, the last 20 for big,
    taken every ten minutes).
    """

    changes_model = False

    def __init__(self, path, count=5, every=None, monitor=None, folder=None):
        super().__init__()
        if count < 1 or (every is not None and every < 1):
            raise ValueError(
                f"Expected count >= 1 and every >= 1 or None. Received: count={count}, "
                f"every={every}"
            )
        if every is not None and monitor is not None:
            raise ValueError(
                "Expected every or monitor, which has values at the ends of epochs. "
                f"Received: every={every}, monitor={monitor!r}"
            )
        if path is None and folder is None:
            raise ValueError("Expected a path or a folder. Received: neither")
        self.path = None if path is None else Path(path)
        self.count, self.every, self.monitor = count, every, monitor
        self.folder = (
            self.path.with_name(f"{self.path.stem}-snapshots") if folder is None else Path(folder)
        )
        self.resumable, self.snapshots = False, []

    def on_train_begin(self, logs=None):
        if not self.snapshots:  # What an earlier training left.
            self.saved()

    def on_train_batch_end(self, batch, logs=None):
        if self.every is not None and self._step() % self.every == 0:
            self._take(0.0)

    def on_epoch_end(self, epoch, logs=None):
        if self.every is None:
            self._take(self._value(logs or {}))
        if self.path is not None:
            self.write(self.model)

    def mean(self, model):
        """The mean of what was collected, as `model.set_weights` takes it; None if that is none."""
        if not self.snapshots:
            return None
        shapes = [tuple(variable.shape) for variable in trained_model(model).weights]
        return average_weights(_read(self._file(step), shapes) for step, _ in self.snapshots)

    def write(self, model):
        """Writes the file, if there are snapshots."""
        mean = self.mean(model)
        if mean is None:
            return
        model = trained_model(model)
        with _weights_set(model, mean), whole_file(self.path) as partial:
            model.save(partial)

    def clear(self):
        """Drops the snapshots, once training has ended."""
        self.snapshots = []
        remove_marked(self.folder, SNAPSHOT)

    def state(self):
        """See `Resumable`: step and value of each snapshot."""
        return self.snapshots

    def restore(self, state):
        self.snapshots = [tuple(snapshot) for snapshot in state or []]
        for step, value in self.snapshots:
            check_types({"step": step, "value": value}, step=int, value=float)
            _read(self._file(step))
        if self.snapshots:  # Earlier versions left their folders without a mark.
            mark(self.folder)
        self.saved()

    def saved(self):
        files = {self._file(step) for step, _ in self.snapshots}
        for path in sorted(self.folder.glob(SNAPSHOT)) if is_marked(self.folder) else ():
            if path not in files:
                path.unlink()

    def _file(self, step):
        return self.folder / f"{step:09}.npz"

    def _step(self):
        return int(keras.ops.convert_to_numpy(self.model.optimizer.iterations))

    def _value(self, logs):
        """How good an epoch is: more is better."""
        if self.monitor is None:
            return 0.0
        if self.monitor not in logs:
            raise ValueError(
                f"Expected a monitor of {sorted(logs)}. Received: monitor={self.monitor!r}"
            )
        value = float(logs[self.monitor])
        value = value if better_direction(self.monitor) == "max" else -value
        return -np.inf if np.isnan(value) else value

    def _take(self, value):
        """Writes a snapshot; where there are too many, the worst counts no more, of equals the
        oldest."""
        arrays = {f"{n}": array for n, array in enumerate(_arrays(trained_model(self.model)))}
        with whole_file(make_marked_folder(self.folder) / self._file(self._step()).name) as partial:
            np.savez(partial, **arrays)
        snapshots = {**dict(self.snapshots), self._step(): value}
        best = sorted(snapshots, key=lambda step: (snapshots[step], step))[-self.count :]
        self.snapshots = [(step, snapshots[step]) for step in sorted(best)]
        if not self.resumable:
            self.saved()


def average_weights(weights):
    """The mean of several models' weights, summed in float64.

    Args:
        weights: iterable of lists of arrays, of one model each.

    Returns:
        list of arrays: float32 means; where they are no floats, those of the last model.

    Raises:
        ValueError: no models, or models of different shapes.

    Example:
        >>> average_weights([[np.float32([2, 4])], [np.float32([4, 8])]])[0].tolist()
        [3.0, 6.0]
    """
    total, count = None, 0
    for arrays in weights:
        shapes = [np.shape(array) for array in arrays]
        if total is not None and shapes != [np.shape(array) for array in total]:
            raise ValueError(f"Expected models of one shape. Received: model {count} with {shapes}")
        if total is None:
            total = [np.array(array, "float64") if _is_float(array) else array for array in arrays]
        else:
            total = [array + new if _is_float(array) else new for array, new in zip(total, arrays)]
        count += 1
    if total is None:
        raise ValueError("Expected one model or more. Received: none")
    return [(array / count).astype("float32") if _is_float(array) else array for array in total]


def average_models(paths, path):
    """Writes a model whose weights are the mean of those of saved models, updates of LoRA merged.

    Args:
        paths: of the `.keras` files, one or more of one architecture.
        path: of the `.keras` file to write; the last model's in all else.

    Returns:
        the `keras.Model`.

    Raises:
        ValueError: no models, damaged ones or ones with code in them, see `read_model_file`, or
            models of different shapes.
        OSError: the file cannot be written.
    """
    loaded = []

    def weights():
        for path in paths:
            loaded[:] = [read_model_file(path)]
            merge_lora(loaded[0])  # The mean of products is not the product of means.
            yield _arrays(loaded[0])

    mean = average_weights(weights())
    _assign(loaded[0], mean)
    with whole_file(path) as partial:
        loaded[0].save(partial)
    return loaded[0]


def _arrays(model):
    """The model's weights; floats as float32, which every file can hold."""
    arrays = [keras.ops.convert_to_numpy(variable) for variable in model.weights]
    return [array.astype("float32") if _is_float(array) else array for array in arrays]


def _is_float(array):
    return keras.backend.is_float_dtype(str(array.dtype))


def _assign(model, arrays):
    for variable, array in zip(model.weights, arrays):
        variable.assign(array)


@contextlib.contextmanager
def _weights_set(model, arrays):
    """The model with other weights for a while."""
    before = [keras.ops.convert_to_numpy(variable).copy() for variable in model.weights]
    try:
        _assign(model, arrays)
        yield
    finally:
        _assign(model, before)


def _read(path, shapes=None):
    """A snapshot's arrays; of the shapes that the model's weights have, if they are given."""
    with naming_damage(f"a snapshot at {path}", "a damaged file"):
        arrays = list(read_arrays(path).values())
    if shapes is not None and [array.shape for array in arrays] != shapes:
        raise DamagedFileError(f"Expected a snapshot of this model at {path}. Received: another's")
    return arrays
