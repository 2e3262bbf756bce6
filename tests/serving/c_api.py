"""Asks a SavedModel through TensorFlow's C interface: the loader of TF Serving, and no Python TF.

Run as a file. Standard input: JSON with version (path), libraries (of operations) and requests, by
name, of feeds (tensor name to strings in base64) and fetches (key to tensor name). Standard output:
JSON, by name of each request, each key to a list of strings in base64, or of floats.
"""

import base64
import ctypes
import importlib.util
import json
import sys
from pathlib import Path

FLOAT, STRING = 1, 7
STRING_BYTES = 24


class Output(ctypes.Structure):
    """TF_Output: one output of an operation."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def functions():
    """The C functions, each with its result's type; all pointers are void pointers."""
    spec = importlib.util.find_spec("tensorflow")
    folder = Path(spec.submodule_search_locations[0])
    core = ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    results = {
        "NewStatus": pointer,
        "GetCode": ctypes.c_int,
        "Message": ctypes.c_char_p,
        "NewGraph": pointer,
        "NewSessionOptions": pointer,
        "LoadLibrary": pointer,
        "LoadSessionFromSavedModel": pointer,
        "GraphOperationByName": pointer,
        "AllocateTensor": pointer,
        "TensorData": pointer,
        "TensorType": ctypes.c_int,
        "TensorElementCount": ctypes.c_int64,
        "StringInit": None,
        "StringCopy": None,
        "StringGetDataPointer": pointer,
        "StringGetSize": size,
        "SessionRun": None,
    }
    named = {}
    for name, result in results.items():
        home = core if hasattr(core, f"TF_{name}") else library
        named[name] = getattr(home, f"TF_{name}")
        named[name].restype = result
    return named


class Session:
    """A SavedModel in a session of the C interface."""

    def __init__(self, version, libraries):
        self.c = functions()
        self.status = self._pointer("NewStatus")
        for library in libraries:
            self._checked("LoadLibrary", library.encode(), self.status)
        self.graph = self._pointer("NewGraph")
        options = self._pointer("NewSessionOptions")
        tags = (ctypes.c_char_p * 1)(b"serve")
        loading = (options, None, version.encode(), tags, 1, self.graph, None, self.status)
        self.session = self._checked("LoadSessionFromSavedModel", *loading)

    def run(self, feeds, fetches):
        """Lists of bytes by tensor name in; lists of bytes or floats, flat, by key out."""
        inputs = (Output * len(feeds))(*map(self._output, feeds))
        given = (ctypes.c_void_p * len(feeds))(*map(self._strings, feeds.values()))
        outputs = (Output * len(fetches))(*map(self._output, fetches.values()))
        results = (ctypes.c_void_p * len(fetches))()
        session = (ctypes.c_void_p(self.session), None)
        sizes = (ctypes.c_int(len(feeds)), ctypes.c_int(len(fetches)))
        asked = (inputs, given, sizes[0], outputs, results, sizes[1])
        self._checked("SessionRun", *session, *asked, None, 0, None, self.status)
        return {key: self._values(result) for key, result in zip(fetches, results)}

    def _pointer(self, name):
        return ctypes.c_void_p(self.c[name]())

    def _checked(self, name, *arguments):
        result = self.c[name](*arguments)
        if self.c["GetCode"](self.status):
            raise RuntimeError(f"TF_{name}: {self.c['Message'](self.status).decode()}")
        return result

    def _output(self, tensor):
        name, index = tensor.split(":")
        operation = self.c["GraphOperationByName"](self.graph, name.encode())
        if not operation:
            raise RuntimeError(f"Expected an operation of the graph. Received: {name}")
        return Output(operation, int(index))

    def _strings(self, values):
        shape, size = (ctypes.c_int64 * 1)(len(values)), STRING_BYTES * len(values)
        tensor = self.c["AllocateTensor"](STRING, shape, 1, ctypes.c_size_t(size))
        start = self.c["TensorData"](ctypes.c_void_p(tensor))
        for row, value in enumerate(values):
            slot = ctypes.c_void_p(start + STRING_BYTES * row)
            self.c["StringInit"](slot)
            self.c["StringCopy"](slot, value, ctypes.c_size_t(len(value)))
        return tensor

    def _values(self, tensor):
        tensor = ctypes.c_void_p(tensor)
        count, kind = self.c["TensorElementCount"](tensor), self.c["TensorType"](tensor)
        start = self.c["TensorData"](tensor)
        if kind == FLOAT:
            return list((ctypes.c_float * count).from_address(start))
        if kind != STRING:
            raise RuntimeError(f"Expected strings or floats. Received: type {kind}")
        slots = [ctypes.c_void_p(start + STRING_BYTES * row) for row in range(count)]
        get, size = self.c["StringGetDataPointer"], self.c["StringGetSize"]
        return [ctypes.string_at(get(slot), size(slot)) for slot in slots]


def main():
    """Answers the requests on standard input."""
    asked = json.load(sys.stdin)
    session = Session(asked["version"], asked["libraries"])
    answers = {name: answered(session, **value) for name, value in asked["requests"].items()}
    assert not any(name.split(".")[0].startswith(("tensorflow", "keras")) for name in sys.modules)
    json.dump(answers, sys.stdout)


def answered(session, feeds, fetches):
    """The answer to one request, its strings in base64 as those of the feeds."""
    feeds = {key: [base64.b64decode(encoded) for encoded in row] for key, row in feeds.items()}
    answer = session.run(feeds, fetches)
    for key, row in answer.items():
        if row and isinstance(row[0], bytes):
            answer[key] = [base64.b64encode(data).decode() for data in row]
    return answer


if __name__ == "__main__":
    main()
