"""Configuration files of TF Serving whose messages are not in its Python package."""

from pathlib import Path

from google.protobuf import text_format
from tensorflow.core.protobuf import config_pb2

from keras_attn.saved.messages import BOOL, INT64, MANY, STRING, Field, message_classes
from tests.serving.stand_in.batching import BatchingParameters

MESSAGES = {
    "PrometheusConfig": {"enable": Field(1, BOOL), "path": Field(2, STRING)},
    "MonitoringConfig": {"prometheus_config": Field(1, "PrometheusConfig")},
    "Int64Value": {"value": Field(1, INT64)},
    "BatchingParameters": {
        "max_batch_size": Field(1, "Int64Value"),
        "batch_timeout_micros": Field(2, "Int64Value"),
        "max_enqueued_batches": Field(3, "Int64Value"),
        "num_batch_threads": Field(4, "Int64Value"),
        "allowed_batch_sizes": Field(6, INT64, MANY),
        "pad_variable_length_inputs": Field(7, BOOL),
    },
}
"""As in TF Serving's monitoring_config.proto and session_bundle_config.proto."""
CLASSES = message_classes(MESSAGES, {})


def parsed(path, name: str):
    """A message of MESSAGES that a text file holds.

    Raises:
        text_format.ParseError: a field that the message does not have, or no such file format.
    """
    return text_format.Parse(Path(path).read_text(encoding="utf-8"), CLASSES[name]())


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
