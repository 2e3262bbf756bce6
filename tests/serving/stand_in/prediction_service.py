"""TF Serving's gRPC PredictionService for one model; its method Predict."""

import concurrent.futures

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_attn.serving.tensor_protos import MALFORMED, arrays_of
from keras_attn_pipelines.saved.servable import Servable, Unavailable

MAX_INPUT_BYTES = 1 << 30
Code = grpc.StatusCode


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers Predict, with TF Serving's status codes.

    NOT_FOUND: another model or version. INVALID_ARGUMENT: a request that the model cannot answer.
    UNAVAILABLE: too many requests wait. DEADLINE_EXCEEDED: the client's deadline passed. INTERNAL:
    anything else. Differs: an unknown signature is an INVALID_ARGUMENT, in TF Serving a
    FAILED_PRECONDITION; the other methods are UNIMPLEMENTED.

    Args:
        servable: the model.
        name: its name.
        threads: int > 0. Requests that are answered at the same time.
    """

    def __init__(self, servable: Servable, name: str, threads: int):
        self._servable, self._name = servable, name
        self._threads = concurrent.futures.ThreadPoolExecutor(threads)

    def close(self) -> None:
        """Drops requests that wait for a thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def Predict(self, request, context):
        """A PredictResponse to a PredictRequest."""
        spec, version = request.model_spec, int(self._servable.version)
        other_version = spec.HasField("version") and spec.version.value != version
        if spec.name != self._name or other_version:
            context.abort(Code.NOT_FOUND, f"Servable not found for request: {spec.name}")
        signature = spec.signature_name or "serving_default"
        try:
            arrays = arrays_of(request.inputs, MAX_INPUT_BYTES)
        except MALFORMED as error:
            context.abort(Code.INVALID_ARGUMENT, f"Expected tensors. Received: {error}")
        future = self._threads.submit(self._servable.outputs, signature, arrays)
        try:
            outputs = future.result(context.time_remaining())
            names = list(request.output_filter) or list(outputs)
            outputs = {name: outputs[name] for name in names}
        except TimeoutError:
            future.cancel()
            context.abort(Code.DEADLINE_EXCEEDED, "Expected a longer deadline")
        except KeyError as error:
            context.abort(Code.INVALID_ARGUMENT, f"output tensor alias not found: {error}")
        except ValueError as error:
            context.abort(Code.INVALID_ARGUMENT, str(error))
        except Unavailable as error:
            context.abort(Code.UNAVAILABLE, str(error))
        except Exception as error:
            context.abort(Code.INTERNAL, f"{type(error).__name__}: {error}")
        response = predict_pb2.PredictResponse()
        response.model_spec.name, response.model_spec.signature_name = self._name, signature
        response.model_spec.version.value = version
        for key, value in outputs.items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
        return response
