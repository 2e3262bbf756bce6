"""Muon for the matrices inside a model, beside Adam for its other weights."""

import math

import keras
from keras import ops

from keras_attn.training.optimizers import ClippedAdam, added

OUTPUT_LAYERS = ("logits", "head", "answer", "tagger")
"""Names of the last layers of models."""
_PROJECTIONS = {"query", "key", "value"}
"""Layers in `keras.layers.MultiHeadAttention` whose kernels have one axis of inputs."""


@keras.saving.register_keras_serializable(package="keras_attn")
class ClippedMuon(ClippedAdam):
    """Muon for the matrices inside a model, and `ClippedAdam` for all other weights.

        m ← μ m + g;  O ≈ the orthogonal matrix nearest to g + μ m
        W ← W − η ρ 0.2 √max(rows, columns) O

    All directions of a matrix are learned alike, also those in which gradients are small. The
    scale makes an update as large as one of Adam, so that ρ = 1 is Adam's learning rate.

    The matrices are the variables named "kernel", or "query_kernel" and the like, of inputs by
    outputs. The last axis of a convolution's kernel has its outputs; of attention's kernels of
    three axes, those of queries, keys and values are D × H d, that of the output H d × D.
    Embeddings, biases, scales, LoRA's factors, slow layers and the layers of `exclude_layers` are
    trained by Adam. Weight decay is that of Adam's learning rate.

    Args:
        learning_rate: float or Keras schedule. η.
        clip_norm: as in `ClippedAdam`.
        matrix_rate: float > 0. ρ, the learning rate of matrices as a multiple of the others'.
        momentum: float, 0 ≤ μ < 1. Of the matrices.
        exclude_layers: str or sequence of strs. Names of layers that are trained by Adam; by
            default those of the last layers of models.
        **kwargs: of `ClippedAdam`.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> model = keras.Sequential([keras.layers.Dense(7), keras.layers.Dense(3, name="logits")])
        >>> model.compile(ClippedMuon(0.01, matrix_rate=3.0), "mse")
        >>> history = model.fit(ops.ones((2, 5)), ops.ones((2, 3)), verbose=0)

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks", and the
    scale of Liu et al. 2025, arXiv:2502.16982. As in `keras.optimizers.Muon`, which leaves
    attention's kernels, of three axes, to Adam.
    """

    def __init__(
        self,
        learning_rate=1e-3,
        clip_norm=None,
        matrix_rate=1.0,
        momentum=0.95,
        exclude_layers=OUTPUT_LAYERS,
        name="clipped_muon",
        **kwargs,
    ):
        super().__init__(learning_rate, clip_norm, name=name, **kwargs)
        if not matrix_rate > 0 or not 0 <= momentum < 1:
            raise ValueError(
                "Expected matrix_rate > 0 and 0 <= momentum < 1. "
                f"Received: matrix_rate={matrix_rate}, momentum={momentum}"
            )
        self.matrix_rate, self.momentum = matrix_rate, momentum
        single = isinstance(exclude_layers, str)
        self.exclude_layers = (exclude_layers,) if single else tuple(exclude_layers)

    def build(self, variables):
        """Makes the moments; notes which variables are matrices."""
        super().build(variables)
        excluded = {*self._slow_names, *self.exclude_layers}
        self._matrices = {}
        for place, variable in enumerate(variables):
            path = variable.path.split("/")
            shape = _matrix_shape(path, variable.shape)
            if shape and not excluded & set(path):
                self._matrices[place] = shape

    def update_step(self, gradient, variable, learning_rate):
        """Muon's update of a matrix, and Adam's of other weights."""
        place = self._get_variable_index(variable)
        if place not in self._matrices:
            super().update_step(gradient, variable, learning_rate)
            return
        average = self._momentums[place]
        gradient = ops.cast(added(gradient), variable.dtype)
        self.assign(average, self.momentum * average + gradient)
        rows, columns = self._matrices[place]
        matrix = ops.reshape(gradient + self.momentum * average, (rows, columns))
        scale = ops.cast(learning_rate * self.matrix_rate, variable.dtype)
        scale = scale * 0.2 * max(rows, columns) ** 0.5
        self.assign_sub(variable, scale * ops.reshape(orthogonalized(matrix), variable.shape))

    def get_config(self):
        names = ("matrix_rate", "momentum", "exclude_layers")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def orthogonalized(matrix, steps=5):
    """About U Vᵀ of a matrix U S Vᵀ: its singular values become 0.7 to 1.2.

    Args:
        matrix: float (m, n).
        steps: int ≥ 0. Of the iteration of Newton and Schulz; with 5, singular values of 0.002 of
            the norm and more get there, and smaller ones become up to 485 times as large.

    Source: Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
    """
    rows, columns = matrix.shape
    x = matrix if rows <= columns else ops.transpose(matrix)
    x = x / (ops.sqrt(ops.sum(ops.square(x))) + 1e-7)
    for _ in range(steps):
        square = ops.matmul(x, ops.transpose(x))
        x = 3.4445 * x + ops.matmul(-4.775 * square + 2.0315 * ops.matmul(square, square), x)
    return x if rows <= columns else ops.transpose(x)


def _matrix_shape(path, shape):
    """Rows and columns, inputs by outputs, of a kernel with this path; None for other weights."""
    name, axes = path[-1], len(shape)
    if axes < 2 or not (name == "kernel" or (name.endswith("_kernel") and axes < 4)):
        return None
    projected = name != "output_kernel" if name != "kernel" else _PROJECTIONS & set(path[-2:-1])
    inputs = 1 if axes == 3 and projected else axes - 1
    matrix = math.prod(shape[:inputs]), math.prod(shape[inputs:])
    return matrix if min(matrix) > 1 else None
