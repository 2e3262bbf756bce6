"""How a SavedModel stores weights: as they are, or smaller and restored while it is loaded."""

import contextlib
import hashlib
from collections.abc import Iterator

import keras
import numpy as np

from keras_attn.lazy_tensorflow import tf
from keras_attn.serving.precision import precision_of

FLOAT32, FLOAT16, INT8 = STORAGES = ("float32", "float16", "int8")
LARGEST = 127
"""Of whole numbers in 8 bits."""
SHARE = 8
"""Weights for each scale at least, where a matrix can be divided so."""


def check_storage(storage: str, precision: str) -> None:
    """Raises ValueError for an unknown storage, or one that a precision does not allow."""
    if storage not in STORAGES:
        raise ValueError(f"Expected a storage of {STORAGES}. Received: {storage!r}")
    if storage != FLOAT32 and precision != FLOAT32:
        raise ValueError(
            f"Expected storage='float32' with precision {precision!r}. "
            f"Received: storage={storage!r}"
        )


class StoredWeights:
    """The variables of a model as a SavedModel stores them.

    Vectors, and what is no float32, are stored as they are. Matrices are stored as the storage
    says, and restored in float32 once, while the model is loaded.

    Args:
        model: with float32 variables.
        storage: "float32"; "float16"; or "int8", whole numbers of -127 to 127 times a float32
            scale for each row or each column, whichever is closer to the weights; of further axes,
            for some of the first or of the last, but at most one for each SHARE weights.

    Attributes:
        module: `tf.Module` to be saved: `model_variables` in the model's order, and for int8
            `model_scales`, a dict from their places as strings.

    Raises:
        ValueError: unknown storage; a smaller one for a model that does not compute in float32; or
            a value outside the range of float16, or none at all.
    """

    def __init__(self, model, storage: str):
        check_storage(storage, precision_of(model))
        self.module, scales = tf.Module(), dict[str, tf.Variable]()
        pairs = [
            (variable, self._stored(str(place), variable, storage, scales))
            for place, variable in enumerate(model.variables)
        ]
        self._restored = [
            (variable, _restoring(stored, scales.get(str(place))))
            for place, (variable, stored) in enumerate(pairs)
            if stored is not variable.value
        ]
        self.module.model_variables = [stored for _, stored in pairs]
        self.module.model_scales = scales
        self.module.restored = [resource for _, resource in self._restored]

    @staticmethod
    def _stored(place, variable, storage, scales):
        """A variable as it is stored; its scale, if it has any, goes into `scales`."""
        rounded = _rounded(variable, storage)
        if rounded is None:
            return variable.value
        whole, scale = rounded
        if scale is not None:
            scales[place] = tf.Variable(scale, name="scale")
        return tf.Variable(whole, trainable=variable.trainable, name=variable.name)

    @contextlib.contextmanager
    def read(self) -> Iterator[None]:
        """Context of a graph in which the model computes with what will be restored."""
        if not self._restored:
            yield
            return
        with keras.StatelessScope(initialize_variables=False) as scope:
            for variable, resource in self._restored:
                scope.add_update((variable, resource.read()))
            yield


def round_weights(model, storage: str) -> None:
    """Assigns a model the weights that a SavedModel of a storage restores.

    Raises:
        ValueError: as of `StoredWeights`.
    """
    check_storage(storage, precision_of(model))
    for variable in model.variables:
        if (rounded := _rounded(variable, storage)) is not None:
            whole, scale = rounded
            variable.assign(whole.astype(FLOAT32) * (1 if scale is None else scale))


def _rounded(variable, storage):
    """A matrix in fewer bits, and its scale if it has one; None for what is stored as it is."""
    if storage == FLOAT32 or len(variable.shape) < 2 or variable.dtype != FLOAT32:
        return None
    value = keras.ops.convert_to_numpy(variable)
    largest = np.abs(value).max()
    if not largest <= (np.finfo(FLOAT16).max if storage == FLOAT16 else np.finfo(FLOAT32).max):
        raise ValueError(
            f"Expected weights within {storage}. Received: {variable.path} with values up to "
            f"{largest:.4g}"
        )
    return (value.astype(FLOAT16), None) if storage == FLOAT16 else quantized(value)


def quantized(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights as whole numbers, and their scales.

    Args:
        value: float32 array of two or more axes.

    Returns:
        whole: int8, of the same shape.
        scale: float32, of the first axes or of the last, with ones for the others; whole times
            scale is close to the weights.

    Example:
        >>> whole, scale = quantized(np.array([[127.0, -50.0], [1.27, -0.5]], "float32"))
        >>> whole.tolist(), scale.shape
        ([[127, -50], [127, -50]], (2, 1))

    Source: Jacob et al. 2018, arXiv:1712.05877, 2.1, without zero points.
    """
    ways: list[tuple] = []
    for place in range(1, value.ndim):
        for axes in (range(place), range(place, value.ndim)):
            scale = np.abs(value).max(axis=tuple(axes), keepdims=True) / LARGEST
            scale = np.where(scale > 0, scale, 1).astype(FLOAT32)
            whole = np.rint(value / scale).astype(INT8)
            error = float(np.square(whole * scale - value).sum())
            ways.append((max(SHARE * scale.size, value.size), error, len(ways), whole, scale))
    return min(ways)[-2:]


def restored(loaded) -> "list[tf.Tensor | tf.Variable]":
    """The weights of a loaded SavedModel in its model's order, in float32 where they were.

    Args:
        loaded: what `tf.saved_model.load` returned.
    """
    scales = getattr(loaded, "model_scales", {})
    return [
        _in_float32(variable, scales.get(str(place)))
        for place, variable in enumerate(getattr(loaded, "model_variables", ()))
    ]


def _in_float32(stored, scale=None):
    """A stored variable in float32 if it is stored in fewer bits, else as it is."""
    if scale is not None:
        return tf.cast(stored, tf.float32) * scale
    return tf.cast(stored, tf.float32) if stored.dtype == tf.float16 else stored


def _restoring(stored, scale):
    """A resource with a stored variable in float32, which is made while a SavedModel is loaded."""

    class Restored(tf.saved_model.experimental.TrackableResource):
        def __init__(self):
            super().__init__()
            # Variables of one name are one variable in Python's TensorFlow, whichever model they
            # are of, so a name stands for its content.
            digest = hashlib.sha256(str(stored.shape).encode())
            for part in (stored, scale):
                digest.update(b"" if part is None else part.numpy().tobytes())
            self._name = f"restored_{digest.hexdigest()}"

        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(
                dtype=tf.float32, shape=stored.shape, shared_name=self._name
            )

        def _initialize(self):
            tf.raw_ops.AssignVariableOp(
                resource=self.resource_handle, value=_in_float32(stored, scale)
            )

        def read(self):
            value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=tf.float32)
            return tf.ensure_shape(value, stored.shape)

    return Restored()
