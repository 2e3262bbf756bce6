"""Configuration files of TF Serving whose messages are not in its Python package."""

from pathlib import Path

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow.core.protobuf import config_pb2

from benchmarks.stand_in.batching import BatchingParameters

INT64, BOOL, STRING, MESSAGE = 3, 8, 9, 11
NUMBER = "google.protobuf.Int64Value"
MESSAGES = {
    "PrometheusConfig": {"enable": (1, BOOL, ""), "path": (2, STRING, "")},
    "MonitoringConfig": {"prometheus_config": (1, MESSAGE, "PrometheusConfig")},
    "BatchingParameters": {
        "max_batch_size": (1, MESSAGE, NUMBER),
        "batch_timeout_micros": (2, MESSAGE, NUMBER),
        "max_enqueued_batches": (3, MESSAGE, NUMBER),
        "num_batch_threads": (4, MESSAGE, NUMBER),
        "allowed_batch_sizes": (6, INT64, ""),
        "pad_variable_length_inputs": (7, BOOL, ""),
    },
}
"""Number, type and message of each field, as in TF Serving's monitoring_config.proto and
session_bundle_config.proto."""


def parsed(path, name: str):
    """A message of MESSAGES that a text file holds.

    Raises:
        text_format.ParseError: a field that the message does not have, or no such file format.
    """
    return text_format.Parse(Path(path).read_text(encoding="utf-8"), _empty(name))


def read_batching_parameters(path) -> BatchingParameters:
    """What a file for --batching_parameters_file says.

    Raises:
        text_format.ParseError: see `parsed`.
        ValueError: fields that the stand-in does not have.
    """
    message = parsed(path, "BatchingParameters")
    if message.pad_variable_length_inputs:
        raise ValueError("Expected pad_variable_length_inputs: false. Received: true")
    sizes = tuple(message.allowed_batch_sizes)
    given = {field.name: value.value for field, value in message.ListFields() if field.message_type}
    return BatchingParameters(**given, allowed_batch_sizes=sizes)


def read_session_config(path) -> config_pb2.ConfigProto:
    """What a file for --tensorflow_session_config_file says.

    Raises:
        text_format.ParseError: no text of a `ConfigProto`.
    """
    return text_format.Parse(Path(path).read_text(encoding="utf-8"), config_pb2.ConfigProto())


def _empty(name):
    file = descriptor_pb2.FileDescriptorProto(name="serving.proto", package="serving")
    file.syntax = "proto3"
    file.dependency.append("google/protobuf/wrappers.proto")
    for title, fields in MESSAGES.items():
        described = file.message_type.add(name=title)
        for key, (number, kind, of) in fields.items():
            field = described.field.add(name=key, number=number, type=kind)
            field.label = 3 if key == "allowed_batch_sizes" else 1
            if of:
                field.type_name = of if "." in of else f"serving.{of}"
                field.type_name = f".{field.type_name}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"serving.{name}"))()
