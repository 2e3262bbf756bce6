"""Learned positions of a grid."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.resample import resample_grid


@keras.saving.register_keras_serializable(package="keras_attn")
class GridPositions(BaseLayer):
    """Adds one learned vector to each cell of a grid, interpolated for other grid sizes.

    The interpolation is bicubic with half-pixel centers, in float32, as transformers has it
    (torch's interpolate with align_corners=False), rows and columns each by their own ratio; see
    `keras_attn.ops.resample`.

    Args:
        height: int > 0. Of the grid that the table is for, in cells.
        width: int > 0.
        initializer: Keras initializer of the table (height, width, D).
        antialias: bool. Whether the interpolation for smaller grids is smoothed.

    Call arguments:
        inputs: float (B, grid height, grid width, D), height and width known.

    Returns:
        (B, grid height, grid width, D), compute dtype.

    Raises:
        ValueError: a size < 1; a grid of unknown static size.

    Example:
        >>> layer = GridPositions(3, 5)
        >>> tuple(layer(ops.zeros((2, 7, 11, 13))).shape), tuple(layer.table.shape)
        ((2, 7, 11, 13), (3, 5, 13))

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, 3.1 and 3.2. Differs: bicubic, where the
    authors' program interpolates linearly with aligned corners.
    """

    def __init__(self, height, width, initializer="random_normal", antialias=False, **kwargs):
        super().__init__(**kwargs)
        self.antialias = check_flag("antialias", antialias)
        self.supports_masking = True
        check_sizes(height=height, width=width)
        self.height, self.width = height, width
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        shape = (self.height, self.width, inputs_shape[-1])
        self.table = self.add_weight(
            shape=shape, initializer=self.initializer, name="table", autocast=False
        )

    def call(self, inputs):
        _, height, width, _ = inputs.shape
        if height is None or width is None:
            raise ValueError(
                "Expected a grid of known height and width. "
                f"Received: inputs of shape {tuple(inputs.shape)}"
            )
        table = resample_grid(self.table, height, width, self.antialias)
        return inputs + ops.cast(table, self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
