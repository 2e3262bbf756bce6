"""Base of all models: typed inputs, for export and shape inference."""

from dataclasses import fields
from typing import Any

import keras
from keras import tree

from keras_attn.former_names import check_former_names
from keras_attn.layers.traced_spec import traced_spec


class BaseModel(keras.Model):
    """Abstract: a Keras model with a declared input signature."""

    def __new__(cls, *args, **kwargs):
        check_former_names(cls, kwargs)
        return super().__new__(cls, *args, **kwargs)

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

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of the outputs."""
        return traced_spec(self, *args, **kwargs)


def picture_signature(model):
    """`keras.InputSpec` of pictures of the size that a model was built for.

    Raises:
        ValueError: a model that is not built.
    """
    if not model.built:
        raise ValueError(f"Expected a model that has been built or called. Received: {model.name}")
    shape = model.get_build_config()["input_shape"]
    return keras.InputSpec(dtype="uint8", shape=(None, *shape[1:]))


def config_of(kind, config, keywords):
    """A model's config, given as an instance or by its fields.

    Args:
        kind: the dataclass of the config.
        config: `kind`, or None.
        keywords: dict of a constructor's keywords; the fields of the config are taken out.

    Raises:
        ValueError: both, something else, or a former name of a field.

    Example:
        >>> from keras_attn.models import TransformerConfig
        >>> keywords = {"vocabulary_size": 101, "num_layers": 2, "name": "mine"}
        >>> config_of(TransformerConfig, None, keywords).num_layers, keywords
        (2, {'name': 'mine'})
    """
    names = [field.name for field in fields(kind)]
    given = {name: keywords.pop(name) for name in names if name in keywords}
    check_former_names(kind, keywords)
    if config is None:
        return kind(**given)
    if not isinstance(config, kind):
        raise ValueError(f"Expected a {kind.__name__} or its fields. Received: {config!r}")
    if given:
        raise ValueError(
            f"Expected a {kind.__name__}, or its fields as keywords. Received: both "
            f"(fields: {', '.join(given)})"
        )
    return config
