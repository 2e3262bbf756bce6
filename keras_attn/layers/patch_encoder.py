"""Pictures as grids of vectors, one per patch."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.allow_empty_batch import allow_empty_batch


@keras.saving.register_keras_serializable(package="keras_attn")
class PatchEncoder(BaseLayer):
    """A linear map of each non-overlapping patch of P × P pixels.

    The kernel (P, P, C, D) is that of a convolution whose stride is its size. Read as a matrix
    (P·P·C, D) it multiplies what `keras.ops.image.extract_patches` returns.

    Args:
        patch_size: int > 0. P, in pixels.
        hidden_dim: int > 0. D.
        use_bias: bool.
        kernel_initializer: Keras initializer of the kernel.

    Call arguments:
        images: float (B, height, width, C).

    Returns:
        (B, height / P, width / P, D), compute dtype. With a dynamic size, pixels that fill no patch
        are dropped.

    Raises:
        ValueError: a size < 1; a height or width that is not a multiple of P ("Expected a height
            that is a multiple of patch_size=16. Received: height=225").

    Example:
        >>> tuple(PatchEncoder(3, 7)(ops.zeros((2, 15, 33, 3))).shape)
        (2, 5, 11, 7)

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, 3.1, E of equation 1.
    """

    def __init__(
        self, patch_size, hidden_dim, use_bias=True, kernel_initializer="lecun_normal", **kwargs
    ):
        super().__init__(**kwargs)
        check_sizes(patch_size=patch_size, hidden_dim=hidden_dim)
        self.use_bias = check_flag("use_bias", use_bias)
        self.patch_size, self.hidden_dim = patch_size, hidden_dim
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, images_shape):
        if len(images_shape) != 4:
            raise ValueError(
                "Expected images of shape (B, height, width, C). "
                f"Received: shape={tuple(images_shape)}"
            )
        shape = (self.patch_size, self.patch_size, images_shape[-1], self.hidden_dim)
        self.kernel = self.add_weight(
            shape=shape, initializer=self.kernel_initializer, name="kernel"
        )
        if self.use_bias:
            self.bias = self.add_weight(shape=(self.hidden_dim,), initializer="zeros", name="bias")

    def call(self, images):
        self.compute_output_shape(images.shape)
        return allow_empty_batch(self._embed, images)

    def _embed(self, images):
        outputs = ops.conv(
            images,
            ops.cast(self.kernel, self.compute_dtype),
            strides=self.patch_size,
            padding="valid",
            data_format="channels_last",
        )
        return outputs + ops.cast(self.bias, self.compute_dtype) if self.use_bias else outputs

    def compute_output_shape(self, images_shape):
        batch, height, width, _ = images_shape
        cells = [self._cells(name, size) for name, size in (("height", height), ("width", width))]
        return (batch, *cells, self.hidden_dim)

    def _cells(self, name, size):
        """Number of patches along a size; None if it is unknown."""
        if size is None:
            return None
        if size < 1 or size % self.patch_size:
            raise ValueError(
                f"Expected a {name} that is a multiple of patch_size={self.patch_size}. "
                f"Received: {name}={size}"
            )
        return size // self.patch_size
