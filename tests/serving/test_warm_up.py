"""Warm-up requests are TF Serving's own protocol buffers."""

import pytest
import tensorflow as tf

from keras_attn.contracts import CAPTION, IMAGE
from keras_attn.serving.warm_up import prediction_log, warm_up_picture


@pytest.mark.parametrize("count", [1, 3, 200])
def test_equal_to_the_real_encoder(count):
    """Byte for byte; 200 pictures make lengths of one to three bytes."""
    reason = "tensorflow-serving-api is not installed"
    apis = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason=reason)
    inputs = {IMAGE: [warm_up_picture()] * count, CAPTION: [b""] * count}
    log = apis.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = "tiny", "score"
    for key, values in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values, tf.string))
    assert prediction_log("tiny", "score", inputs) == log.SerializeToString(deterministic=True)
