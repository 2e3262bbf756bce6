"""Base of all models: typed inputs, for export and shape inference."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar

import keras
from keras import tree
from keras.src.quantizers.utils import should_quantize_layer  # It has no public name.

from keras_attn.layers.constructor_config import constructor_config
from keras_attn.layers.projections import (
    Projections,
    adapt_as_saved,
    adaptations_config,
    enable_lora,
    merge_lora,
    parts_of,
    restored,
    track_parameters,
)
from keras_attn.layers.relative_positions import RelativePositions
from keras_attn.layers.traced_spec import traced_spec


class BaseModel(keras.Model):
    """Abstract: a Keras model with a declared input signature, and the config of `BaseLayer`."""

    custom_config: ClassVar[tuple[str, ...]] = ()
    """See `BaseLayer`."""

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), **constructor_config(self), **adaptations_config(self)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The inverse of `get_config`."""
        return restored(cls, config)

    def _post_build(self):  # Of Keras, after every build: by a call, a saved model or by hand.
        adapt_as_saved(self)
        super()._post_build()

    def enable_lora(self, rank, targets=None, lora_alpha=None):
        """Freezes all weights and adds trainable updates of a low rank to projections.

        Compile the model afterwards. It is saved and loaded with its updates. Layers that are not
        trainable get none.

        Args:
            rank: int > 0. r.
            targets: list of names, or None for all projections of attention and feed-forward
                layers: of projections ("query", "value"), of layers ("feed_forward"), or of parts
                of the model ("decoder"). A projection is a target if it, or something that it lies
                in, is named.
            lora_alpha: float > 0 or None. α; None is r.

        Raises:
            ValueError: rank < 1; lora_alpha ≤ 0; a model that cannot be built without inputs, or
                has updates; no target, or one that names no projection.

        Source: Hu et al. 2021, arXiv:2106.09685.
        """
        if not self.built:
            self.build()
        enable_lora(self, rank, lora_alpha, targets)

    def merge_lora(self):
        """Adds the updates to their projections, removes them, and trains all weights again.

        Raises:
            ValueError: projections in 8 bits.
        """
        merge_lora(self)

    def quantize(self, mode=None, config=None, filters=None, **kwargs):
        """Like `keras.Model.quantize`, of attention's projections and feed-forward layers too.

        Other layers than these and Keras' own are named in warnings and stay as they are.

        Args:
            mode, config, filters: as in Keras.
            **kwargs: as in Keras.

        Raises:
            NotImplementedError: another mode than "int8", or a quantizer of weights.
            ValueError: a layer that has LoRA enabled; of Keras, a model that is not built.
        """
        parts = parts_of(self)
        for part in parts:  # All of them: what merging trains again is known by its place.
            part.check_no_lora()
        for part in parts:
            if should_quantize_layer(part, filters):
                part.quantize(mode, config=config)

        def others(layer):
            if isinstance(layer, Projections | RelativePositions | keras.layers.Dropout):
                return False
            return bool(layer.weights) and should_quantize_layer(layer, filters)

        super().quantize(mode, config=config, filters=others, **kwargs)
        track_parameters(self)
        self.train_function = self.test_function = self.predict_function = None

    def input_signature(self) -> Any:
        """The inputs of a call: a structure of `keras.InputSpec` with None for free sizes."""
        raise NotImplementedError

    def export(
        self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs
    ):
        """Like `keras.Model.export`; token ids stay int32 and pictures uint8.

        Args:
            filepath: path of the folder to write.
            format: as in Keras.
            verbose: as in Keras.
            input_signature: as in Keras; None is [self.input_signature()].
            **kwargs: as in Keras.
        """
        signature = [self.input_signature()] if input_signature is None else input_signature
        if not self.built:
            self.build()
        return super().export(
            filepath, format=format, verbose=verbose, input_signature=signature, **kwargs
        )

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns."""
        return traced_spec(self, *args, **kwargs)

    def compute_output_shape(self, input_shape):
        """Shapes of the outputs, from the shapes of the inputs."""
        signature = self.input_signature()
        if isinstance(signature, dict):
            tensors: Any = {
                key: keras.KerasTensor(shape, dtype=signature[key].dtype)
                for key, shape in input_shape.items()
            }
        else:
            tensors = keras.KerasTensor(input_shape, dtype=signature.dtype)
        outputs = traced_spec(self, tensors)
        return tree.map_structure(lambda spec: tuple(spec.shape), outputs)


class PictureClassifier(BaseModel):
    """Abstract: logits float32 (B, num_classes) from pictures."""

    def input_signature(self):
        """See `BaseModel`: the sizes of the pictures that the model was built for.

        Raises:
            ValueError: a model that is not built.
        """
        if not self.built:
            raise ValueError(
                f"Expected a model that has been built or called. Received: {self.name}"
            )
        shape = self.get_build_config()["input_shape"]
        return keras.InputSpec(dtype="uint8", shape=(None, *shape[1:]))

    def compute_output_shape(self, images_shape):
        return (images_shape[0], self.num_classes)


def config_of(kind, config, keywords):
    """A model's config, given as an instance or by its fields.

    Args:
        kind: the dataclass of the config.
        config: `kind`, a dict of its fields, or None.
        keywords: dict of a constructor's keywords; the fields of the config are taken out.

    Raises:
        ValueError: both, or something else.

    Example:
        >>> from keras_attn.models import TransformerConfig
        >>> keywords = {"vocabulary_size": 101, "num_layers": 2, "name": "mine"}
        >>> config_of(TransformerConfig, None, keywords).num_layers, keywords
        (2, {'name': 'mine'})
    """
    names = [field.name for field in fields(kind)]
    given = {name: keywords.pop(name) for name in names if name in keywords}
    if config is None:
        return kind(**given)
    if isinstance(config, Mapping):
        config = kind(**config)
    if not isinstance(config, kind):
        raise ValueError(f"Expected a {kind.__name__} or its fields. Received: {config!r}")
    if given:
        raise ValueError(
            f"Expected a {kind.__name__}, or its fields as keywords. Received: both "
            f"(fields: {', '.join(given)})"
        )
    return config
