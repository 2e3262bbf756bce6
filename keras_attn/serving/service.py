"""Base class of services: a model from strings to named answers, and the views that it declares."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_attn.lazy_tensorflow import tf
from keras_attn.viz.declared.plain import Plain
from keras_attn.viz.declared.reading import checked_views


class Service(abc.ABC):
    """Abstract: a model from strings to named answers, which `export_service` exports.

    Args:
        model: Keras model.
        vocabularies: dict of the vocabularies that it reads and writes with, by the names of their
            folders.
        views: declared views of its answers, and `Note`s; the first is what `explain` draws.

    Attributes:
        further_weights: list of Keras variables that the functions read besides the model's.

    Raises:
        ValueError: `views` is no list of them.
    """

    def __init__(self, model: Any, vocabularies: Mapping[str, Any], views: Sequence[Plain] = ()):
        self.model, self.vocabularies = model, dict(vocabularies)
        self.views = checked_views(views)
        self.further_weights: Sequence[Any] = ()

    @property
    @abc.abstractmethod
    def inputs(self) -> "dict[str, tuple[tf.TensorSpec, Any]]":
        """dict from input name to its `TensorSpec` and an example value that can be read."""

    @abc.abstractmethod
    def functions(self) -> dict[str, tuple[Callable, Sequence[str]]]:
        """dict from signature name to its function, from string tensors to a dict of tensors, and
        the names of its inputs."""

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Description of the service without its model and views, of JSON types."""

    def signatures(self) -> "dict[str, tuple[Callable, list[tf.TensorSpec]]]":
        """The exported signatures: dict from name to a function and its `TensorSpec`s."""
        inputs = self.inputs
        return {
            signature: (function, [inputs[name][0] for name in names])
            for signature, (function, names) in self.functions().items()
        }

    def requests(self, count: int) -> dict[str, dict[str, list[Any]]]:
        """Warm-up requests: dict from signature to inputs, `count` of each."""
        inputs = self.inputs
        return {
            signature: {name: [inputs[name][1]] * count for name in names}
            for signature, (_, names) in self.functions().items()
        }


def inputs_of(reader: Any, target: str = "") -> "dict[str, tuple[tf.TensorSpec, Any]]":
    """`Service.inputs` of a reader, and of a given text beside them, if it has a name.

    Raises:
        ValueError: the name is no identifier, or is that of another input.
    """
    if target and (target in reader.examples or not target.isidentifier()):
        others = ", ".join(reader.examples)
        raise ValueError(
            f"Expected an identifier as target, and another than {others}. Received: {target!r}"
        )
    inputs = {
        name: (tf.TensorSpec(reader.shape, tf.string, name=name), example)
        for name, example in reader.examples.items()
    }
    given = {target: (tf.TensorSpec((None,), tf.string, name=target), b"a")} if target else {}
    return {**inputs, **given}
