"""SavedModels in a session of TensorFlow's C interface, the loader of TF Serving.

Python's TensorFlow is not imported, only its shared libraries are.
"""

import ctypes
import functools
import importlib.util
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_attn.saved.data_types import DTYPES, STRING, type_of

STRING_BYTES = 24
"""Size of a TF_TString."""
INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 3, 8
"""TF_Code of a request that is at fault itself, and of one that memory does not suffice for."""


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
    "NewOperation": (POINTER, POINTER, TEXT, TEXT),
    "SetAttrType": (None, POINTER, TEXT, INT),
    "SetAttrInt": (None, POINTER, TEXT, INT64),
    "SetAttrBool": (None, POINTER, TEXT, ctypes.c_ubyte),
    "AddInput": (None, POINTER, Output),
    "FinishOperation": (POINTER, POINTER, POINTER),
    "NewSession": (POINTER, POINTER, POINTER, POINTER),
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


class ResourceExhaustedError(CError):
    """TensorFlow is out of memory."""


class NoLibraryError(Exception):
    """TensorFlow's libraries, or those of tensorflow-text, cannot be loaded on their own."""


class CSession:
    """A graph in a session; threads may run it at the same time.

    Args:
        make_session: function of the functions of FUNCTIONS, a new graph and options that fills the
            graph and returns a session of it.
    """

    def __init__(self, make_session):
        self._c = c_functions()
        self._graph, options = self._c["NewGraph"](), self._c["NewSessionOptions"]()
        try:
            self._session = make_session(self._c, self._graph, options)
        except CError:
            self._c["DeleteGraph"](self._graph)
            raise
        finally:
            self._c["DeleteSessionOptions"](options)
        self._freed = weakref.finalize(self, _free, self._c, self._session, self._graph)
        self._freed.atexit = False  # The process frees it.

    @classmethod
    def of_saved_model(cls, version, config: bytes = b"") -> "CSession":
        """A SavedModel, with the operations of tensorflow-text.

        Args:
            version: path of a version's folder.
            config: bytes of a `ConfigProto`.

        Raises:
            CError: a SavedModel that cannot be loaded.
            NoLibraryError: libraries that cannot be.
        """
        _load_text_libraries(c_functions())

        def loaded(c, graph, options):
            _checked(c, "SetConfig", options, config, len(config))
            tags = (ctypes.c_char_p * 1)(b"serve")
            given = (options, None, str(version).encode(), tags, 1, graph, None)
            return _checked(c, "LoadSessionFromSavedModel", *given)

        return cls(loaded)

    @classmethod
    def of_decoder(cls) -> "CSession":
        """TensorFlow's decoder of pictures: string scalar "data:0" to uint8 (height, width, 3)
        "pixels:0".

        Raises:
            NoLibraryError: libraries that cannot be loaded.
        """

        def made(c, graph, options):
            data = c["NewOperation"](graph, b"Placeholder", b"data")
            c["SetAttrType"](data, b"dtype", STRING)
            data = _checked(c, "FinishOperation", data)
            pixels = c["NewOperation"](graph, b"DecodeImage", b"pixels")
            c["AddInput"](pixels, Output(data, 0))
            c["SetAttrInt"](pixels, b"channels", 3)
            c["SetAttrBool"](pixels, b"expand_animations", False)
            _checked(c, "FinishOperation", pixels)
            return _checked(c, "NewSession", graph, options)

        return cls(made)

    def close(self) -> None:
        """Frees the model; the session cannot be run any more."""
        self._freed()

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
            _checked(self._c, "SessionRun", self._session, None, *asked, None, 0, None)
            return [self._array(tensor) for tensor in results]
        finally:
            # The results first: one may share the strings of an input.
            for tensor in filter(None, results):
                self._c["DeleteTensor"](tensor)
            for tensor, array in zip(given, feeds.values()):
                self._free(tensor, array.size)

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


def _load_text_libraries(functions):
    """Loads all operations of tensorflow-text, which TF Serving links, too."""
    libraries = sorted((_package("tensorflow_text") / "python" / "ops").glob("_*.so"))
    try:
        for library in libraries:
            _checked(functions, "LoadLibrary", str(library).encode())
    except CError as error:
        raise NoLibraryError(str(error)) from error


def c_error(code: int, message: str) -> CError:
    """The error of a TF_Code."""
    kind = ResourceExhaustedError if code == RESOURCE_EXHAUSTED else CError
    return kind(code, message)


def _checked(functions, name, *arguments):
    """Calls a function whose last argument is a status.

    Raises:
        CError: what the status says.
    """
    status = functions["NewStatus"]()
    try:
        result = functions[name](*arguments, status)
        if code := functions["GetCode"](status):
            raise c_error(code, functions["Message"](status).decode(errors="replace"))
        return result
    finally:
        functions["DeleteStatus"](status)


def _free(functions, session, graph):
    """Frees a model."""
    _checked(functions, "CloseSession", session)
    _checked(functions, "DeleteSession", session)
    functions["DeleteGraph"](graph)


@functools.cache
def c_functions():
    """The functions of TensorFlow's libraries, by the names of FUNCTIONS."""
    folder = _package("tensorflow")
    try:
        core = ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise NoLibraryError(str(error)) from error
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
        raise NoLibraryError(f"no package {name}")
    return Path(spec.submodule_search_locations[0])
