"""The warm-up requests of an exported model, and their answering."""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from keras_attn.serving.warm_up import WARM_UP_FILE


def warm_up_requests(version) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Signature and inputs of each warm-up request of a version.

    Raises:
        ValueError: there are none.
    """
    path = Path(version) / WARM_UP_FILE
    if not path.is_file():
        raise ValueError(f"Expected warm-up requests in {version}. Received: none")
    requests = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        request = prediction_log_pb2.PredictionLog.FromString(record).predict_log.request
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        requests.append((request.model_spec.signature_name, inputs))
    return requests


def warm_up(servable) -> None:
    """Answers a model's warm-up requests one after the other, as TF Serving does while it loads.

    Python's TensorFlow prepares a function for each thread that calls it before it is ready: 32
    first calls at once took minutes, and gigabytes.

    Args:
        servable: `Servable` with its `folder`.
    """
    for signature, inputs in warm_up_requests(servable.folder):
        servable.outputs(signature, inputs)
