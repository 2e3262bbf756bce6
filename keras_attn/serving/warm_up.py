"""Warm-up requests, which TF Serving answers while it loads a version.

TF Serving reads `assets.extra/tf_serving_warmup_requests`: a TFRecord file of its own protocol
buffer PredictionLog. The few fields that are needed are encoded here, so that exporting does not
need the package tensorflow-serving-api; the tests compare with it.
"""

from pathlib import Path

from keras_attn.lazy_tensorflow import tf

WARM_UP_FILE = Path("assets.extra", "tf_serving_warmup_requests")
WARM_UP_BATCHES = (1, 8)
_SIDE = 32


def write_warm_up(version, model: str, service) -> None:
    """Writes requests for every signature of a service, of 1 and of 8 items.

    Args:
        version: path of a version's folder.
        model: name under which the model is served.
        service: `Service`.
    """
    path = Path(version) / WARM_UP_FILE
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for count in WARM_UP_BATCHES:
            for signature, inputs in service.requests(count).items():
                writer.write(prediction_log(model, signature, inputs))


def warm_up_picture() -> bytes:
    """A small JPEG: red grows to the right, green downwards."""
    ramp = tf.cast(tf.linspace(0, 255, _SIDE), tf.uint8)
    down, right = tf.meshgrid(ramp, ramp, indexing="ij")
    return tf.io.encode_jpeg(tf.stack([right, down, tf.zeros_like(down)], axis=-1)).numpy()


def prediction_log(model: str, signature: str, inputs: dict[str, list[bytes]]) -> bytes:
    """A serialized PredictionLog with one PredictRequest of string inputs.

    Its fields by number: PredictionLog.predict_log 6, PredictLog.request 1, PredictRequest
    .model_spec 1 and .inputs 2 (a map: key 1, value 2), ModelSpec.name 1 and .signature_name 3.
    """
    request = _field(1, _field(1, model.encode()) + _field(3, signature.encode()))
    for key in sorted(inputs):
        tensor = tf.make_tensor_proto(inputs[key], tf.string).SerializeToString()
        request += _field(2, _field(1, key.encode()) + _field(2, tensor))
    return _field(6, _field(1, request))


def _field(number, content):
    """A length-delimited field of a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    """Varint: seven bits per byte, lowest first; the high bit marks continuation."""
    low = bytearray()
    while value > 0x7F:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])
