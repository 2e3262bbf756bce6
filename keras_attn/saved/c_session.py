"""SavedModels in a session of TensorFlow's C interface, the loader of TF Serving.

Python's TensorFlow is not imported, only its shared libraries are.
"""

import ctypes
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_attn.saved.data_types import DTYPES, STRING, type_of

STRING_BYTES = 24
"""Size of a TF_TString."""
INVALID_ARGUMENT = 3
"""TF_Code of a request that is at fault itself."""


class Output(ctypes.Structure):
    """TF_Output: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


POINTER, TEXT, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
INT64, SIZE = ctypes.c_int64, ctypes.c_size_t
OUTPUTS, TENSORS = ctypes.POINTER(Output), ctypes.POINTER(ctypes.c_void_p)
TEXTS, SIZES = ctypes.POINTER(TEXT), ctypes.POINTER(INT64)
FUNCTIONS = {
    "NewStatus": (POINTER,),
    "DeleteStatus": (None, POINTER),
    "GetCode": (INT, POINTER),
    "Message": (TEXT, POINTER),
    "NewGraph": (POINTER,),
    "DeleteGraph": (None, POINTER),
    "NewSessionOptions": (POINTER,),
    "SetConfig": (None, POINTER, TEXT, SIZE, POINTER),
    "DeleteSessionOptions": (None, POINTER),
    "LoadLibrary": (POINTER, TEXT, POINTER),
    "LoadSessionFromSavedModel": (
        *(POINTER, POINTER, POINTER, TEXT, TEXTS, INT),
        *(POINTER, POINTER, POINTER),
    ),
    "CloseSession": (None, POINTER, POINTER),
    "DeleteSession": (None, POINTER, POINTER),
    "GraphOperationByName": (POINTER, POINTER, TEXT),
    "SessionRun": (
        *(None, POINTER, POINTER, OUTPUTS, TENSORS, INT, OUTPUTS, TENSORS, INT),
        *(POINTER, INT, POINTER, POINTER),
    ),
    "AllocateTensor": (POINTER, INT, SIZES, INT, SIZE),
    "DeleteTensor": (None, POINTER),
    "TensorData": (POINTER, POINTER),
    "TensorType": (INT, POINTER),
    "NumDims": (INT, POINTER),
    "Dim": (INT64, POINTER, INT),
    "StringInit": (None, POINTER),
    "StringCopy": (None, POINTER, TEXT, SIZE),
    "StringDealloc": (None, POINTER),
    "StringGetDataPointer": (POINTER, POINTER),
    "StringGetSize": (SIZE, POINTER),
}
"""The functions TF_… that are used: the type of the result, then those of the arguments."""


class CError(Exception):
    """What TensorFlow says went wrong.

    Attributes:
        code: int. TF_Code, which is gRPC's.
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CSession:
    """A SavedModel in a session; threads may run it at the same time.

    Args:
        version: path of a version's folder.
        libraries: paths of libraries with operations that the graph needs.
        config: bytes of a `ConfigProto`.

    Raises:
        CError: a library or a SavedModel that cannot be loaded.
        ValueError: TensorFlow's own libraries are not there.
    """

    def __init__(self, version, libraries: Iterable[str] = (), config: bytes = b""):
        self._c = _functions()
        for library in libraries:
            self._checked("LoadLibrary", str(library).encode())
        self._graph = self._c["NewGraph"]()
        options = self._c["NewSessionOptions"]()
        tags = (ctypes.c_char_p * 1)(b"serve")
        loading = (options, None, str(version).encode(), tags, 1, self._graph, None)
        try:
            self._checked("SetConfig", options, config, len(config))
            self._session = self._checked("LoadSessionFromSavedModel", *loading)
        finally:
            self._c["DeleteSessionOptions"](options)

    def close(self):
        """Frees the model; the session cannot be run any more."""
        self._checked("CloseSession", self._session)
        self._checked("DeleteSession", self._session)
        self._c["DeleteGraph"](self._graph)

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """The values of tensors.

        Args:
            feeds: dict from tensor name ("operation:index") to array, of numbers or, as objects,
                of bytes.
            fetches: names of tensors.

        Raises:
            CError: no such tensor, or what TensorFlow refuses.
            ValueError: an array of something else.
        """
        inputs = (Output * len(feeds))(*map(self._output, feeds))
        outputs = (Output * len(fetches))(*map(self._output, fetches))
        given, results = (POINTER * len(feeds))(), (POINTER * len(fetches))()
        try:
            for place, array in enumerate(feeds.values()):
                given[place] = self._tensor(array)
            asked = (inputs, given, len(feeds), outputs, results, len(fetches))
            self._checked("SessionRun", self._session, None, *asked, None, 0, None)
            return [self._array(tensor) for tensor in results]
        finally:
            # The results first: one may share the strings of an input.
            for tensor in filter(None, results):
                self._c["DeleteTensor"](tensor)
            for tensor, array in zip(given, feeds.values()):
                self._free(tensor, array.size)

    def _checked(self, name, *arguments):
        """Calls a function whose last argument is a status."""
        status = self._c["NewStatus"]()
        try:
            result = self._c[name](*arguments, status)
            if code := self._c["GetCode"](status):
                message = self._c["Message"](status).decode(errors="replace")
                raise CError(code, message)
            return result
        finally:
            self._c["DeleteStatus"](status)

    def _output(self, tensor):
        name, _, index = tensor.partition(":")
        operation = self._c["GraphOperationByName"](self._graph, name.encode())
        if not operation:
            raise CError(INVALID_ARGUMENT, f"Expected an operation of the graph. Received: {name}")
        return Output(operation, int(index))

    def _tensor(self, array):
        """A tensor that holds a copy of an array."""
        sizes, kind = (INT64 * array.ndim)(*array.shape), type_of(array)
        if kind != STRING:
            array = np.ascontiguousarray(array)
            tensor = self._c["AllocateTensor"](kind, sizes, len(sizes), array.nbytes)
            ctypes.memmove(self._c["TensorData"](tensor), array.ctypes.data, array.nbytes)
            return tensor
        values = array.ravel().tolist()
        if not all(isinstance(value, bytes) for value in values):
            raise ValueError("Expected bytes in an array of objects. Received: something else")
        size = STRING_BYTES * len(values)
        tensor = self._c["AllocateTensor"](STRING, sizes, len(sizes), size)
        for slot, value in zip(self._slots(tensor, len(values)), values):
            self._c["StringInit"](slot)
            self._c["StringCopy"](slot, value, len(value))
        return tensor

    def _free(self, tensor, count):
        """Frees a tensor of this class; TF_DeleteTensor alone would leave its long strings."""
        if not tensor:
            return
        if self._c["TensorType"](tensor) == STRING:
            for slot in self._slots(tensor, count):
                self._c["StringDealloc"](slot)
        self._c["DeleteTensor"](tensor)

    def _slots(self, tensor, count):
        """The addresses of a tensor's strings."""
        start = self._c["TensorData"](tensor) or 0  # None, if there are no strings.
        return range(start, start + STRING_BYTES * count, STRING_BYTES)

    def _array(self, tensor):
        """A copy of what a tensor holds."""
        shape = [self._c["Dim"](tensor, axis) for axis in range(self._c["NumDims"](tensor))]
        count, kind = int(np.prod(shape)), self._c["TensorType"](tensor)
        if kind == STRING:
            get, size = self._c["StringGetDataPointer"], self._c["StringGetSize"]
            array = np.empty(count, object)
            for place, slot in enumerate(self._slots(tensor, count)):
                array[place] = ctypes.string_at(get(slot), size(slot))
            return array.reshape(shape)
        array = np.empty(shape, DTYPES[kind])
        ctypes.memmove(array.ctypes.data, self._c["TensorData"](tensor), array.nbytes)
        return array


def text_libraries() -> list[str]:
    """Paths of all operations of tensorflow-text, which TF Serving links, too."""
    return sorted(map(str, (_package("tensorflow_text") / "python" / "ops").glob("_*.so")))


def _functions():
    """The functions of TensorFlow's libraries, by the names of FUNCTIONS."""
    folder = _package("tensorflow")
    try:
        core = ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ValueError(
            f"Expected TensorFlow's libraries in {folder}. Received: {error}"
        ) from error
    functions = {}
    for name, (result, *arguments) in FUNCTIONS.items():
        home = core if hasattr(core, f"TF_{name}") else library
        functions[name] = home[f"TF_{name}"]  # A function object of our own, unlike an attribute.
        functions[name].restype, functions[name].argtypes = result, arguments
    return functions


def _package(name):
    """The folder of a package that is not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"Expected the libraries of {name}. Received: no such package")
    return Path(spec.submodule_search_locations[0])
