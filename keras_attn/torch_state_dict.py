"""Reads the weights of an untrusted torch `.pth` file without torch."""

import collections
import io
import math
import os
import pickle
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001
_ZIP_START = b"PK\x03\x04"

# torch storage class -> NumPy type of one element, without its byte order.
_ELEMENT_TYPES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": "u2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


class _Storage(NamedTuple):
    """A flat block of elements that the pickle mentions; its bytes lie elsewhere in the file."""

    kind: str
    key: str
    size: int


class _Tensor(NamedTuple):
    """A strided view of a storage; offset and strides count elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _TensorUnpickler(pickle.Unpickler):
    """Unpickles tensors as `_Tensor` records and rejects all other globals."""

    def __init__(self, stream):
        super().__init__(stream)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._rebuild_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return self._rebuild_parameter
        if module == "torch" and name in _ELEMENT_TYPES:
            return name
        raise ValueError(f"the global {module}.{name}, which no tensor needs")

    def persistent_load(self, pid):
        tag, kind, key, _location, size, *view = pid
        if tag != "storage" or kind not in _ELEMENT_TYPES or view not in ([], [None]):
            raise ValueError(f"the persistent id {pid!r}")
        return self.storages.setdefault(key, _Storage(kind, key, size))

    def _rebuild_tensor(self, storage, offset, shape, strides, *_gradient_and_hooks):
        if not isinstance(storage, _Storage):
            raise ValueError(f"a tensor of {storage!r} in place of a storage")
        return _Tensor(storage, offset, tuple(shape), tuple(strides))

    def _rebuild_parameter(self, tensor, *_gradient_and_hooks):
        return tensor


def read_state_dict(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads a flat torch state dict, as `torch.save(module.state_dict(), path)` wrote it.

    Both file formats are read: the zip archive (torch 1.6 and later) and the legacy stream of
    pickles before it. The unpickler only allows the globals that rebuild tensors, so an untrusted
    file can be wrong but cannot run code.

    Args:
        path: the file.

    Returns:
        name -> array of the tensor's shape, in the file's order. Arrays are read-only and may
        share memory as the tensors did; bfloat16 comes as float32 of equal value.

    Raises:
        OSError: the file cannot be opened.
        ValueError: empty, truncated or no torch file; a global that tensors do not need, such
            as `posix.system`; or contents other than a dict of tensors.

    Example:
        >>> state = read_state_dict("model.pth")  # doctest: +SKIP
        >>> state["fc.weight"].shape  # doctest: +SKIP
        (1000, 1280)
    """
    content = Path(path).read_bytes()
    try:
        if content.startswith(_ZIP_START):
            tensors, blocks = _read_zip(content)
        else:
            tensors, blocks = _read_legacy(content)
        return {name: _view(name, tensor, blocks) for name, tensor in _entries(tensors)}
    except Exception as error:  # A pickle of unknown origin can raise anything.
        reason = str(error) or type(error).__name__
        raise ValueError(
            f"Expected a torch state dict (.pth) at {os.fspath(path)!r}. Received: {reason}"
        ) from error


def _read_zip(content: bytes):
    """One pickle, `data.pkl`, and a member `data/KEY` for every storage."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        pickles = [name for name in archive.namelist() if name.split("/")[1:] == ["data.pkl"]]
        if len(pickles) != 1:
            raise ValueError(f"a zip archive with {len(pickles)} members */data.pkl")
        root = pickles[0].removesuffix("data.pkl")
        little = root + "byteorder" not in archive.namelist() or (
            _member(archive, root + "byteorder") == b"little"
        )
        unpickler = _TensorUnpickler(io.BytesIO(_member(archive, pickles[0])))
        tensors = unpickler.load()
        blocks = {
            storage: _elements(_member(archive, f"{root}data/{storage.key}"), storage, 0, little)
            for storage in unpickler.storages.values()
        }
    return tensors, blocks


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"a compressed member {name!r}, which torch never writes")
    return archive.read(name)


def _read_legacy(content: bytes):
    """Pickles in a row: magic, protocol, system, tensors, storage keys; then every storage."""
    stream = io.BytesIO(content)
    if _TensorUnpickler(stream).load() != _LEGACY_MAGIC:
        raise ValueError("a pickle without torch's magic number")
    if (protocol := _TensorUnpickler(stream).load()) != _LEGACY_PROTOCOL:
        raise ValueError(f"torch protocol {protocol!r}")
    little = _TensorUnpickler(stream).load()["little_endian"]
    unpickler = _TensorUnpickler(stream)
    tensors = unpickler.load()
    blocks = {}
    for key in _TensorUnpickler(stream).load():
        storage = unpickler.storages[key]
        length = int.from_bytes(stream.read(8), "little" if little else "big")
        if length != storage.size:
            raise ValueError(f"a storage of {length} elements, announced as {storage.size}")
        blocks[storage] = _elements(content, storage, stream.tell(), little)
        stream.seek(length * np.dtype(_ELEMENT_TYPES[storage.kind]).itemsize, os.SEEK_CUR)
    return tensors, blocks


def _elements(content: bytes, storage: _Storage, start: int, little: bool) -> np.ndarray:
    """The storage's elements at byte `start`, copied so that they lie aligned."""
    dtype = np.dtype(("<" if little else ">") + _ELEMENT_TYPES[storage.kind])
    if storage.size < 0 or start + storage.size * dtype.itemsize > len(content):
        raise ValueError(f"a file that ends inside storage {storage.key!r}: truncated")
    data = np.frombuffer(content, dtype, storage.size, start).astype(dtype.newbyteorder("="))
    if storage.kind == "BFloat16Storage":
        return (data.astype(np.uint32) << 16).view(np.float32)
    return data


def _entries(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"a {type(tensors).__name__} in place of a dict of tensors")
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, _Tensor):
            raise ValueError(f"the entry {name!r} of type {type(tensor).__name__}, not a tensor")
    return tensors.items()


def _view(name: str, tensor: _Tensor, blocks: dict[_Storage, np.ndarray]) -> np.ndarray:
    """The tensor as a read-only view of its storage, after a check of its bounds."""
    data = blocks[tensor.storage]
    numbers = (tensor.offset, *tensor.shape, *tensor.strides)
    if len(tensor.shape) != len(tensor.strides) or min(numbers) < 0:
        raise ValueError(f"the tensor {name!r} with (offset, *shape, *strides) = {numbers}")
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides))
    if math.prod(tensor.shape) and tensor.offset + reach >= data.size:
        raise ValueError(f"the tensor {name!r}, which reaches past its storage's {data.size}")
    return np.lib.stride_tricks.as_strided(
        data[tensor.offset :],
        tensor.shape,
        [stride * data.itemsize for stride in tensor.strides],
        writeable=False,
    )
