"""Makes the graph of a SavedModel smaller, which is faster to load and answers alike."""

from pathlib import Path
from typing import Any

SAVED_MODEL = "saved_model.pb"
SHAPES = "_output_shapes"
"""Attribute of nodes: what TensorFlow inferred of their outputs, and infers again at loading."""


def read_proto(folder) -> Any:
    """The `SavedModel` message of a SavedModel in a folder."""
    from tensorflow.core.protobuf import saved_model_pb2

    return saved_model_pb2.SavedModel.FromString(Path(folder, SAVED_MODEL).read_bytes())


def shrink_graph(folder) -> None:
    """Leaves one of each constant in the functions of a SavedModel, and no inferred shapes.

    TensorFlow writes a constant for each axis and each number of a traced function, most of them
    equal to others. Shapes that it cannot infer again are kept: those of functions' results, and of
    nodes that call functions.

    Args:
        folder: path of a SavedModel that has just been written.
    """
    from tensorflow.python.saved_model import fingerprinting_utils  # It has no public name.

    proto = read_proto(folder)
    for graph in proto.meta_graphs:
        for function in graph.graph_def.library.function:
            _shrink(function)
    Path(folder, SAVED_MODEL).write_bytes(proto.SerializeToString(deterministic=True))
    fingerprinting_utils.write_fingerprint(str(folder))


def _shrink(function):
    """Shrinks a `FunctionDef` in place."""
    results = {_parts(text)[1] for text in function.ret.values()}
    first, equal, kept = dict[bytes, str](), dict[str, str](), list[Any]()
    for node in function.node_def:
        if node.name not in results and not _calls(node):
            node.attr.pop(SHAPES, None)
        if node.op == "Const" and not node.input:
            content = _without_name(node)
            if content in first:
                equal[node.name] = first[content]
                continue
            first[content] = node.name
        kept.append(_copy(node))

    def renamed(text):
        control, name, output = _parts(text)
        return f"{control}{equal.get(name, name)}{output}"

    for node in kept:
        inputs = [*map(renamed, node.input)]
        controls = dict.fromkeys(text for text in inputs if text.startswith("^"))
        node.input[:] = [*(text for text in inputs if text not in controls), *controls]
    del function.node_def[:]
    function.node_def.extend(kept)
    for key, text in function.ret.items():
        function.ret[key] = renamed(text)


def _parts(text):
    """A reference to a node in parts: "^" if it is one of control, the name, and the output."""
    control = "^" if text.startswith("^") else ""
    name, colon, output = text.removeprefix("^").partition(":")
    return control, name, colon + output


def _calls(node):
    """Whether a node calls functions."""
    return any(value.HasField("func") or value.list.func for value in node.attr.values())


def _copy(node):
    """A copy, since removing a node from a function may change what a reference is to."""
    copy = type(node)()
    copy.CopyFrom(node)
    return copy


def _without_name(node):
    copy = _copy(node)
    copy.name = ""
    return copy.SerializeToString(deterministic=True)
