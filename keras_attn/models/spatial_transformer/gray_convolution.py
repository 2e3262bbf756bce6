"""A convolution of gray pictures with a fast gradient to the pictures."""

import keras
from keras import ops

PLAIN = {"strides": (1, 1), "padding": "valid", "dilation_rate": (1, 1), "groups": 1}
"""What the layer leaves at Keras' defaults."""


@keras.saving.register_keras_serializable(package="keras_attn")
class Conv2D(keras.layers.Conv2D):
    """`keras.layers.Conv2D` for pictures of one channel, under Keras' name, so that weights fit.

    oneDNN computes the gradient to a single channel as if there were 16. Here the columns that the
    kernel covers become channels, so that it has something to compute for most of them.

    Args:
        filters, kernel_size, **kwargs: as of `keras.layers.Conv2D`, with strides of 1, no padding,
            no dilation, one group, and channels last.

    Raises:
        ValueError: other strides, padding, dilation, groups or data format; in `build`, another
            number of channels.
    """

    def __init__(self, filters, kernel_size, data_format="channels_last", **kwargs):
        super().__init__(filters, kernel_size, data_format=data_format, **kwargs)
        expected = {**PLAIN, "data_format": "channels_last"}
        received = {name: getattr(self, name) for name in expected}
        if received != expected:
            raise ValueError(f"Expected {expected}. Received: {received}")

    def build(self, input_shape):
        if input_shape[-1] != 1:
            raise ValueError(f"Expected pictures of one channel. Received: shape={input_shape}")
        super().build(input_shape)

    def convolution_op(self, inputs, kernel):
        """(B, H, W, 1) and (h, w, 1, filters) to (B, H − h + 1, W − w + 1, filters)."""
        height, width, _, filters = kernel.shape
        columns = ops.shape(inputs)[2] - width + 1
        shifted = [inputs[:, :, start : start + columns] for start in range(width)]
        kernel = ops.reshape(kernel, (height, 1, width, filters))
        return ops.conv(ops.concatenate(shifted, axis=-1), kernel, data_format=self.data_format)
