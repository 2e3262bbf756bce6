"""The signatures of a SavedModel, read without TensorFlow."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_attn.extras import extra
from keras_attn.saved.data_types import DATA_TYPES
from keras_attn.saved.messages import BOOL, BY_NAME, INT64, MANY, STRING, Field, message_classes

with extra("text"):
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError

MESSAGES = {
    "Dim": {"size": Field(1, INT64), "name": Field(2, STRING)},
    "TensorShape": {"dim": Field(2, "Dim", MANY), "unknown_rank": Field(3, BOOL)},
    "TensorInfo": {
        "name": Field(1, STRING),
        "dtype": Field(2, "DataType"),
        "tensor_shape": Field(3, "TensorShape"),
    },
    "SignatureDef": {
        "inputs": Field(1, "TensorInfo", BY_NAME),
        "outputs": Field(2, "TensorInfo", BY_NAME),
        "method_name": Field(3, STRING),
    },
    "SaverDef": {"restore_op_name": Field(3, STRING)},
    "MetaGraphDef": {
        "saver_def": Field(3, "SaverDef"),
        "signature_def": Field(5, "SignatureDef", BY_NAME),
    },
    "SavedModel": {"meta_graphs": Field(2, "MetaGraphDef", MANY)},
}
"""What a reader of signatures needs of saved_model.proto, meta_graph.proto and saver.proto."""
VARIABLES_FILE = Path("variables", "variables.index")
ENUMS = {"DataType": {"DT_INVALID": 0, **{name: n for n, (name, _) in DATA_TYPES.items()}}}
SavedModelProto = message_classes(MESSAGES, ENUMS)["SavedModel"]


def read_signatures(folder) -> dict[str, Any]:
    """dict from name to `SignatureDef`, of a version's folder.

    Raises:
        ValueError: a damaged file, or no variables, without which TensorFlow would load the model.
    """
    path = Path(folder) / "saved_model.pb"
    try:
        graph = SavedModelProto.FromString(path.read_bytes()).meta_graphs[0]
    except (DecodeError, IndexError, OSError) as error:
        raise damaged(folder, error) from error
    if graph.saver_def.restore_op_name and not (Path(folder) / VARIABLES_FILE).is_file():
        raise damaged(folder, f"no {VARIABLES_FILE}")
    # Those with underscores are TensorFlow's own, for loading.
    return {name: value for name, value in graph.signature_def.items() if not name.startswith("__")}


def damaged(folder, error) -> ValueError:
    """The error of a SavedModel that cannot be read, for one of TensorFlow's or of the system."""
    return ValueError(
        f"Expected a SavedModel in {folder}. Received: damaged files "
        f"({' '.join(str(error).split()):.120})"
    )


def signatures_as_json(signatures: Mapping[str, Any]) -> dict[str, Any]:
    """Signatures, dict from name to `SignatureDef`, as TF Serving describes them."""
    described = {
        name: json_format.MessageToDict(
            signature,
            preserving_proto_field_name=True,
            always_print_fields_with_no_presence=True,
        )
        for name, signature in signatures.items()
    }
    return {"signature_def": described}
