"""Spatial softmax: the position of each feature on a grid."""

import keras
from keras import ops

from keras_attn.ops.sampling_grids import target_points


@keras.saving.register_keras_serializable(package="keras_attn")
class SpatialSoftmax(keras.layers.Layer):
    """The expected position of each feature under its softmax over the cells of a grid.

        p_c = Σ_n softmax_n(U[n, c]) · (x_n, y_n)

    It gives positions to a fraction of a cell, two numbers per feature, and can be the last layer
    of a `SpatialTransformer`'s localization.

    Call arguments:
        features: float (B, H, W, C). U; H and W known when the layer is built.

    Returns:
        float (B, 2 C), compute dtype: x and y of the first feature, and so on, where −1 and 1 are
        the grid's edges. Computed in float32.

    Raises:
        ValueError: features of another rank, or of unknown size.

    Example:
        >>> features = ops.reshape(ops.convert_to_tensor([0.0, 0.0, 0.0, 50.0]), (1, 2, 2, 1))
        >>> ops.convert_to_numpy(SpatialSoftmax()(features)).tolist()
        [[0.5, 0.5]]

    Source: Levine et al. 2016, arXiv:1504.00702, 5.1; Finn et al. 2016, arXiv:1509.06113.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, features_shape):
        if len(features_shape) != 4 or None in features_shape[1:]:
            raise ValueError(
                "Expected features (B, height, width, channels) of a known size. "
                f"Received: shape={tuple(features_shape)}"
            )

    def call(self, features):
        _, height, width, channels = features.shape
        cells = ops.reshape(ops.cast(features, "float32"), (-1, height * width, channels))
        places = ops.convert_to_tensor(target_points(height, width).reshape(-1, 2))
        expected = ops.einsum("bnc,nd->bcd", ops.softmax(cells, axis=1), places)
        return ops.cast(ops.reshape(expected, (-1, 2 * channels)), self.compute_dtype)

    def compute_output_shape(self, features_shape):
        return (features_shape[0], 2 * features_shape[-1])
