"""Warm-up requests: TF Serving's own protocol buffers, and requests that the model answers."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import CAPTION, ERROR, IMAGE
from keras_attn.serving.export import read_metadata
from keras_attn.serving.warm_up import WARM_UP_FILE, prediction_log, warm_up_picture

SIGNATURES = ["serving_default", "explain", "score"]


@pytest.fixture(scope="module")
def apis():
    """TF Serving's protocol buffers."""
    reason = "tensorflow-serving-api is not installed"
    return pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason=reason)


@pytest.mark.parametrize("count", [1, 3, 200])
def test_equal_to_the_real_encoder(apis, count):
    """Byte for byte; 200 pictures make lengths of one to three bytes."""
    inputs = {IMAGE: [warm_up_picture()] * count, CAPTION: [b""] * count}
    log = apis.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = "tiny", "score"
    for key, values in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values, tf.string))
    assert prediction_log("tiny", "score", inputs) == log.SerializeToString(deterministic=True)


@pytest.mark.systems
def test_the_exported_requests_are_answered(apis, tiny_export):
    records = tf.data.TFRecordDataset(str(tiny_export / WARM_UP_FILE))
    logs = [apis.PredictionLog.FromString(record) for record in records.as_numpy_iterator()]
    requests = [log.predict_log.request for log in logs]
    batches = read_metadata(tiny_export)["warm_up_batches"]
    assert batches[0] == 1 < batches[1]
    asked = [
        (len(request.inputs[IMAGE].string_val), request.model_spec.signature_name)
        for request in requests
    ]
    assert asked == list(itertools.product(batches, SIGNATURES))
    assert {request.model_spec.name for request in requests} == {"tiny"}
    signatures = tf.saved_model.load(str(tiny_export)).signatures
    for request in requests:
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        inputs = {key: tf.constant(value, tf.string) for key, value in inputs.items()}
        answer = signatures[request.model_spec.signature_name](**inputs)
        assert not np.any(answer[ERROR].numpy() != b"")


def test_no_need_of_the_real_encoder(tiny_export):
    """Where the package is absent: as many records as there are requests, each with the name."""
    records = list(tf.data.TFRecordDataset(str(tiny_export / WARM_UP_FILE)).as_numpy_iterator())
    assert len(records) == 6 and all(b"tiny" in record for record in records)
