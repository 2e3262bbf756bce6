"""A SavedModel that a server asks through TensorFlow's C interface."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from tensorflow.core.protobuf import saved_model_pb2

from benchmarks.stand_in.c_session import CError, CSession, text_libraries
from keras_attn.saved.saved_model import signatures_as_json, version_folder, version_number
from keras_attn.serving.requests import joined

INVALID_ARGUMENT = 3
"""TF_Code of a request that is at fault itself."""


class CModel:
    """A `Servable` whose answers are those of a session in C, as TF Serving's are.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.
        config: `ConfigProto` of the session. Default: TensorFlow's own.

    Raises:
        ValueError: no SavedModel there.
        CError: one that cannot be loaded.
    """

    def __init__(self, folder, config=None):
        self.folder = version_folder(folder)
        content = (self.folder / "saved_model.pb").read_bytes()
        graph = saved_model_pb2.SavedModel.FromString(content).meta_graphs[0]
        self._signatures = {
            name: signature
            for name, signature in graph.signature_def.items()
            if not name.startswith("__")
        }
        given = config.SerializeToString() if config else b""
        self._session = CSession(self.folder, text_libraries(), given)

    def close(self) -> None:
        """Frees the model."""
        self._session.close()

    @property
    def version(self) -> str:
        """The version, a number; 1 where the folder is not named for one."""
        return version_number(self.folder)

    def inputs_of(self, signature: str) -> list[str]:
        """See `Servable`."""
        return sorted(self._known(signature).inputs)

    def outputs(self, signature: str, columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """See `Servable`; TensorFlow itself judges types and shapes."""
        known = self._known(signature)
        if (expected := sorted(known.inputs)) != sorted(columns):
            raise ValueError(f"Expected inputs {expected}. Received: {sorted(columns)}")
        fetches = {key: info.name for key, info in known.outputs.items()}
        try:
            feeds = {known.inputs[key].name: array_of(rows) for key, rows in columns.items()}
            arrays = self._session.run(feeds, list(fetches.values()))
        except TypeError as error:
            raise ValueError(str(error)) from error
        except CError as error:
            if error.code == INVALID_ARGUMENT:
                raise ValueError(str(error)) from error
            raise
        return dict(zip(fetches, arrays))

    def signature_shapes(self) -> dict[str, Any]:
        """See `Servable`."""
        return signatures_as_json(self._signatures)

    def _known(self, signature):
        if signature not in self._signatures:
            raise ValueError(f"Expected one of {sorted(self._signatures)}. Received: {signature!r}")
        return self._signatures[signature]


def array_of(rows: Any) -> np.ndarray:
    """The rows of an input as one array, strings as objects; see `joined`."""
    batch = joined(rows)
    return batch if isinstance(batch, np.ndarray) else np.array(batch, object)
