"""A SavedModel in a session of its own, which answers sooner than `tf.saved_model.load`."""

import contextlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attn.lazy_tensorflow import tf
from keras_attn.native_log import hidden_native_log
from keras_attn.saved.c_session import INVALID_ARGUMENT, CError, CSession, NoLibraryError
from keras_attn.saved.data_types import DTYPES, type_name, type_of
from keras_attn.saved.messages import BOOL, INT64, Field, message_classes
from keras_attn.saved.python_session import PythonSession
from keras_attn.saved.signatures import damaged, read_signatures, signatures_as_json
from keras_attn.saved.versions import version_folder, version_number
from keras_attn.serving.requests import joined

MESSAGES = {
    "ConfigProto": {
        "intra_op_parallelism_threads": Field(2, INT64),
        "inter_op_parallelism_threads": Field(5, INT64),
        "gpu_options": Field(6, "GPUOptions"),
        "allow_soft_placement": Field(7, BOOL),
        "graph_options": Field(10, "GraphOptions"),
    },
    "GPUOptions": {"allow_growth": Field(4, BOOL)},
    "GraphOptions": {
        "optimizer_options": Field(3, "OptimizerOptions"),
        "place_pruned_graph": Field(6, BOOL),
        "rewrite_options": Field(10, "RewriterConfig"),
    },
    "OptimizerOptions": {"opt_level": Field(3, INT64), "do_function_inlining": Field(4, BOOL)},
    "RewriterConfig": {"disable_meta_optimizer": Field(19, BOOL)},
}
"""What `session_config` needs of config.proto and rewriter_config.proto."""
L0 = -1
"""Level of `OptimizerOptions` without any optimization."""


class SavedSession:
    """A SavedModel whose signatures are asked in a session, as TF Serving asks them.

    `tf.saved_model.load` builds Python objects for every node of every signature, and TensorFlow's
    optimizer, Grappler, rewrites the graph at the first call of each. A session needs neither; the
    answers are the same, and come about as fast. It is TensorFlow's C interface that is asked, for
    which TensorFlow's Python is not imported; only where its shared libraries cannot be loaded on
    their own is it the Python.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.
        config: bytes of the session's `ConfigProto`; None: see `session_config`.

    Attributes:
        folder: path of the version.
        signatures: dict from name to `SignatureDef`.

    Raises:
        ValueError: no SavedModel there, or a damaged one.
        ImportError: no TensorFlow, or no tensorflow-text.
    """

    def __init__(self, folder, config: bytes | None = None):
        self.folder = version_folder(folder)
        self.signatures = read_signatures(self.folder)
        given = session_config() if config is None else config
        self._asked: set[str] = set()
        with hidden_native_log():
            self._session = _session(self.folder, given)

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
        return sorted(self.signature(signature).inputs)

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
        asked = self.signature(signature)
        if (expected := self.inputs_of(signature)) != sorted(columns):
            raise ValueError(f"Expected inputs {expected}. Received: {sorted(columns)}")
        arrays = {key: array_of(rows) for key, rows in columns.items()}
        for key, array in arrays.items():
            _check(key, array, asked.inputs[key])
        feeds = {asked.inputs[key].name: array for key, array in arrays.items()}
        is_first, self._asked = signature not in self._asked, {*self._asked, signature}
        # SentencePiece writes a line when a graph first makes its tokenizer.
        try:
            with hidden_native_log() if is_first else contextlib.nullcontext():
                names = [info.name for info in asked.outputs.values()]
                return dict(zip(asked.outputs, self._session.run(feeds, names)))
        except CError as error:
            if error.code == INVALID_ARGUMENT:
                raise ValueError(str(error)) from error
            raise

    def output_types(self) -> dict[str, dict[str, np.dtype]]:
        """NumPy's types of each signature's outputs.

        Raises:
            ValueError: one that NumPy does not have.
        """
        types = {}
        for name, signature in self.signatures.items():
            if missing := {i.dtype for i in signature.outputs.values()} - DTYPES.keys():
                raise ValueError(f"Expected outputs of NumPy's types. Received: {missing}")
            types[name] = {key: DTYPES[info.dtype] for key, info in signature.outputs.items()}
        return types

    def signature_shapes(self) -> dict[str, Any]:
        """The signatures as JSON, as TF Serving describes them."""
        return signatures_as_json(self.signatures)

    def signature(self, name: str) -> Any:
        """The `SignatureDef` of a name.

        Raises:
            ValueError: no such signature.
        """
        if name not in self.signatures:
            raise ValueError(
                f"Expected a SavedModel with a signature {name!r}. Received: {self.folder} "
                f"with {', '.join(sorted(self.signatures)) or 'none'}"
            )
        return self.signatures[name]


def session_config() -> bytes:
    """`ConfigProto` of a session that answers soon, with the threads that TensorFlow was given.

    There is no Grappler; only what is asked is placed, and calls are put into its graph, or else
    each would pass through all of TensorFlow's rewrites on its own.
    """
    config = message_classes(MESSAGES, {})["ConfigProto"](allow_soft_placement=True)
    if "tensorflow" in sys.modules:
        threads = tf.config.threading
        config.intra_op_parallelism_threads = threads.get_intra_op_parallelism_threads()
        config.inter_op_parallelism_threads = threads.get_inter_op_parallelism_threads()
    config.gpu_options.allow_growth = True
    options = config.graph_options
    options.place_pruned_graph = True
    options.optimizer_options.opt_level = L0
    options.optimizer_options.do_function_inlining = True
    options.rewrite_options.disable_meta_optimizer = True
    return config.SerializeToString()


def _session(version, config):
    try:
        return CSession.of_saved_model(version, config)
    except NoLibraryError:
        return PythonSession(version, config)
    except CError as error:
        raise damaged(version, error) from error


def array_of(rows: Any) -> np.ndarray:
    """The rows of an input as one array, strings as objects; see `joined`."""
    batch = joined(rows)
    return batch if isinstance(batch, np.ndarray) else np.array(batch, object)


def _check(name, array, info):
    """Raises ValueError for an array of another type or shape than a `TensorInfo` has."""
    if type_of(array) != info.dtype:
        kind = type_name(info.dtype)
        raise ValueError(f"Expected {name} of type {kind}. Received: {array.dtype}")
    sizes = [None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim]
    fits = len(sizes) == array.ndim and all(
        size in (None, given) for size, given in zip(sizes, array.shape)
    )
    if not fits and not info.tensor_shape.unknown_rank:
        raise ValueError(f"Expected {name} of shape {tuple(sizes)}. Received: {array.shape}")
