"""A SavedModel asked through TensorFlow's C interface, without TensorFlow's Python."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attn.saved.c_session import INVALID_ARGUMENT, CError, CSession, text_libraries
from keras_attn.saved.data_types import DATA_TYPES, type_of
from keras_attn.saved.signatures import read_signatures, signatures_as_json
from keras_attn.saved.versions import version_folder, version_number
from keras_attn.serving.requests import joined


class CModel:
    """A SavedModel whose signatures are asked in a `CSession`, as TF Serving asks them.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.
        config: bytes of the session's `ConfigProto`; b"": TensorFlow's own.

    Attributes:
        folder: path of the version.

    Raises:
        ValueError: no SavedModel there or a damaged one, or no TensorFlow or tensorflow-text.
    """

    def __init__(self, folder, config: bytes = b""):
        self.folder = version_folder(folder)
        self._signatures = read_signatures(self.folder)
        try:
            self._session = CSession(self.folder, text_libraries(), config)
        except CError as error:
            raise ValueError(
                f"Expected a SavedModel in {self.folder}. Received: {error}"
            ) from error

    def close(self) -> None:
        """Frees the model."""
        self._session.close()

    @property
    def version(self) -> str:
        """The version, a number; 1 where the folder is not named for one."""
        return version_number(self.folder)

    def inputs_of(self, signature: str) -> list[str]:
        """Names of a signature's inputs.

        Raises:
            ValueError: no such signature.
        """
        return sorted(self._signature(signature).inputs)

    def outputs(self, signature: str, columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """A signature's outputs by name, arrays (B, ...), strings as objects of bytes.

        Args:
            signature: its name.
            columns: dict of all its inputs, lists or arrays of B rows; see `joined`.

        Raises:
            ValueError: no such signature, a missing or unknown input, another type or shape than
                the signature's, or rows that the graph refuses.
            CError: any other error of TensorFlow.
        """
        asked = self._signature(signature)
        if (expected := self.inputs_of(signature)) != sorted(columns):
            raise ValueError(f"Expected inputs {expected}. Received: {sorted(columns)}")
        arrays = {key: array_of(rows) for key, rows in columns.items()}
        for key, array in arrays.items():
            _check(key, array, asked.inputs[key])
        feeds = {asked.inputs[key].name: array for key, array in arrays.items()}
        try:
            results = self._session.run(feeds, [info.name for info in asked.outputs.values()])
        except CError as error:
            if error.code == INVALID_ARGUMENT:
                raise ValueError(str(error)) from error
            raise
        return dict(zip(asked.outputs, results))

    def signature_shapes(self) -> dict[str, Any]:
        """The signatures as JSON, as TF Serving describes them."""
        return signatures_as_json(self._signatures)

    def _signature(self, name):
        if name not in self._signatures:
            raise ValueError(f"Expected one of {sorted(self._signatures)}. Received: {name!r}")
        return self._signatures[name]


def array_of(rows: Any) -> np.ndarray:
    """The rows of an input as one array, strings as objects; see `joined`."""
    batch = joined(rows)
    return batch if isinstance(batch, np.ndarray) else np.array(batch, object)


def _check(name, array, info):
    """Raises ValueError for an array of another type or shape than a `TensorInfo` has."""
    if type_of(array) != info.dtype:
        kind, _ = DATA_TYPES.get(info.dtype, (info.dtype, ""))
        raise ValueError(f"Expected {name} of type {kind}. Received: {array.dtype}")
    sizes = [None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim]
    fits = len(sizes) == array.ndim and all(
        size in (None, given) for size, given in zip(sizes, array.shape)
    )
    if not fits and not info.tensor_shape.unknown_rank:
        raise ValueError(f"Expected {name} of shape {tuple(sizes)}. Received: {array.shape}")
