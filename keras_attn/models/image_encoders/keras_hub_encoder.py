"""The image backbones of keras-hub as image encoders."""

import os

import keras
from keras import ops

from keras_attn.extras import extra
from keras_attn.ops.allow_empty_batch import allow_empty_batch


@keras.saving.register_keras_serializable(package="keras_attn")
class KerasHubEncoder(keras.Layer):
    """An image backbone of keras-hub up to its last feature grid, pixel scaling included.

    Statistics of batches and dropout are as in inference, as needed for fine-tuning on small
    batches. Tokens before the patches of a Transformer are no features.

    Args:
        backbone: `keras_hub.models.Backbone` from images (B, height, width, 3) to a grid, or to a
            sequence that ends with its patches, of which its `patch_size` tells the grid.
        scale: float, three floats or None. What pixels in 0..255 are multiplied by.
        offset: likewise. What is added then.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255, of a size that the
            backbone accepts.
        training: bool. Ignored.

    Returns:
        features: float (B, grid height, grid width, F), compute dtype.

    Raises:
        ValueError: a backbone with other inputs, such as text, or other outputs.

    Example:
        >>> encoder = KerasHubEncoder.from_preset("resnet_18_imagenet")  # doctest: +SKIP
        >>> tuple(encoder(ops.zeros((2, 224, 224, 3))).shape)  # doctest: +SKIP
        (2, 7, 7, 512)
    """

    def __init__(self, backbone, scale=None, offset=None, **kwargs):
        super().__init__(autocast=False, **kwargs)
        _check_backbone(backbone)
        self.backbone, self.scale, self.offset = backbone, scale, offset
        self.backbone.trainable = self.trainable  # Keras hands on changes only.
        self.built = True

    @classmethod
    def from_preset(cls, preset, **kwargs):
        """The encoder of a preset, with its weights and its own scaling of pixels.

        Args:
            preset: name, handle or folder, as for `keras_hub.models.Backbone.from_preset`.
            **kwargs: of the layer.

        Raises:
            ImportError: keras-hub is not installed.
            ValueError: a preset of another task, or without an image converter, whose scaling of
                pixels is not known.
        """
        with extra("hub"):
            import keras_hub
        preset = os.fspath(preset)
        policy = kwargs.get("dtype") or keras.config.dtype_policy()
        backbone = keras_hub.models.Backbone.from_preset(preset, dtype=policy)
        try:
            _check_backbone(backbone)
        except ValueError as error:
            raise ValueError(f"{error}, of the preset {preset!r}") from error
        try:
            converter = keras_hub.layers.ImageConverter.from_preset(preset)
        except Exception as error:  # The loaders of presets raise errors of many kinds.
            raise ValueError(
                f"Expected a preset with an image converter. Received: {preset!r}, {error}"
            ) from error
        return cls(backbone, converter.scale, converter.offset, **kwargs)

    def call(self, images, training=None):
        return allow_empty_batch(self._encode, images)

    def _encode(self, images):
        pixels = ops.cast(images, "float32")
        if self.scale is not None:
            pixels = pixels * ops.convert_to_tensor(self.scale, "float32")
        if self.offset is not None:
            pixels = pixels + ops.convert_to_tensor(self.offset, "float32")
        features = self.backbone(ops.cast(pixels, self.compute_dtype), training=False)
        if len(features.shape) == 3:
            _, height, width, units = self.compute_output_shape(images.shape)
            patches = features[:, -height * width :]
            features = ops.reshape(patches, (-1, height, width, units))
        return ops.cast(features, self.compute_dtype)

    def compute_output_shape(self, images_shape):
        expected = self.backbone.input.shape[1:3]
        for side, size in zip(expected, images_shape[1:3]):
            if side not in (None, size):
                raise ValueError(
                    f"Expected pictures of {expected[0]}x{expected[1]} pixels, as the backbone "
                    f"has them. Received: {images_shape[1]}x{images_shape[2]}"
                )
        shape = self.backbone.compute_output_shape(images_shape)
        if len(shape) == 4:
            return shape
        patch = self.backbone.patch_size
        sides = patch if isinstance(patch, tuple | list) else (patch, patch)
        cells = [size // side for size, side in zip(images_shape[1:3], sides)]
        return (shape[0], *cells, shape[-1])

    def get_config(self):
        backbone = keras.saving.serialize_keras_object(self.backbone)
        return {
            **super().get_config(),
            "backbone": backbone,
            "scale": self.scale,
            "offset": self.offset,
        }

    @classmethod
    def from_config(cls, config):
        """The inverse of `get_config`; the weights are those of the file that is loaded."""
        with extra("hub"):
            import keras_hub  # noqa: F401  (It registers its classes.)
        backbone = keras.saving.deserialize_keras_object(config["backbone"])
        return cls(**{**config, "backbone": backbone})


def _check_backbone(backbone):
    """Raises ValueError for a backbone that is not from pictures to a grid or to patches."""
    name = type(backbone).__name__
    shape = getattr(backbone.input, "shape", None)
    if shape is None or len(shape) != 4 or shape[-1] != 3:
        given = backbone.input if isinstance(backbone.input, dict) else {"inputs": backbone.input}
        raise ValueError(
            "Expected a backbone that reads pictures (B, height, width, 3). "
            f"Received: {name}, which reads {', '.join(given)}"
        )
    outputs = getattr(backbone.output, "shape", ())
    if not (len(outputs) == 4 or (len(outputs) == 3 and hasattr(backbone, "patch_size"))):
        raise ValueError(
            "Expected a backbone whose output is a grid, or patches. "
            f"Received: {name}, with an output of shape {tuple(outputs)}"
        )
