"""Writes torch `.pth` files opcode by opcode, without torch."""

import pickle
import zipfile

import numpy as np

STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}


def global_name(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def value(plain) -> bytes:
    """The opcodes that push a plain Python value."""
    return pickle.dumps(plain, protocol=2)[2:-1]


def storage(kind: str, key: str, count: int, *, legacy: bool = False) -> bytes:
    """The opcodes that push the persistent storage `key`."""
    identity = value("storage") + global_name("torch", kind)
    identity += value(key) + value("cpu") + value(count)
    return b"(" + identity + (value(None) if legacy else b"") + b"tQ"


def tensor(block: bytes, offset: int, shape: tuple, strides: tuple) -> bytes:
    """The opcodes that push a tensor over the storage that `block` pushes."""
    view = value(offset) + value(shape) + value(strides) + value(False)
    hooks = global_name("collections", "OrderedDict") + b")R"
    return global_name("torch._utils", "_rebuild_tensor_v2") + b"(" + block + view + hooks + b"tR"


def parameter(rebuilt: bytes) -> bytes:
    """The opcodes that push a parameter around a tensor."""
    hooks = global_name("collections", "OrderedDict") + b")R"
    rebuild = global_name("torch._utils", "_rebuild_parameter")
    return rebuild + b"(" + rebuilt + value(True) + hooks + b"tR"


def pickled(entries: dict[str, bytes]) -> bytes:
    """A whole pickle of an OrderedDict, from the opcodes of its values."""
    items = b"".join(value(name) + opcodes for name, opcodes in entries.items())
    return b"\x80\x02" + global_name("collections", "OrderedDict") + b")R(" + items + b"u."


def write_zip(path, data: bytes, blocks: dict[str, bytes]):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", data)
        archive.writestr("model/byteorder", "little")
        for key, content in blocks.items():
            archive.writestr(f"model/data/{key}", content)


def write_legacy(path, data: bytes, blocks: dict[str, tuple[int, bytes]]):
    """blocks: storage key -> number of elements, their bytes."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"int": 4}}
    heads = [0x1950A86A20F9469CFC6C, 1001, system]
    content = b"".join(pickle.dumps(head, protocol=2) for head in heads) + data
    content += pickle.dumps(list(blocks), protocol=2)
    for count, block in blocks.values():
        content += count.to_bytes(8, "little") + block
    path.write_bytes(content)


def write_state(path, state: dict[str, np.ndarray]):
    """A zip `.pth` with one storage an array."""
    entries = {}
    for name, array in state.items():
        strides = tuple(step // array.itemsize for step in array.strides)
        block = storage(STORAGES[array.dtype.name], name, array.size)
        entries[name] = tensor(block, 0, array.shape, strides)
    write_zip(path, pickled(entries), {name: array.tobytes() for name, array in state.items()})
