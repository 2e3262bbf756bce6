"""Clients of TF Serving over gRPC and REST: deadlines, retries, clear errors.

`RestClient` needs NumPy only; `GrpcClient` needs `pip install 'keras-attn[client]'`.
"""

import abc
import base64
import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np

from keras_attn.serving.requests import Requests

_PIECE_OF_ANSWER = 1 << 16


class _Transient(Exception):
    """A transient failure; holds the exception to raise if all attempts fail."""

    def __init__(self, final: OSError):
        super().__init__(str(final))
        self.final = final


class _Client(Requests):
    """Abstract: deadlines, retries and clear errors; subclasses make one attempt.

    Besides the errors of `Requests`, `ask` raises TimeoutError (no answer within the deadline, in
    the last attempt), ConnectionError (the server could not be reached, in the last attempt) or
    ValueError (no such model, or a rejected request).

    Args:
        model: name of the model.
        deadline: float > 0. Timeout of one attempt in seconds.
        retries: int ≥ 0. Attempts after the first.
        backoff: float ≥ 0. Seconds before the first retry; each later wait is twice as long. Random
            jitter shortens waits by up to a half, so that clients do not retry in sync.

    Raises:
        ValueError: a number out of its range.
    """

    def __init__(self, model, deadline, retries, backoff):
        if deadline <= 0 or retries < 0 or backoff < 0:
            raise ValueError(
                "Expected deadline > 0, retries >= 0 and backoff >= 0. "
                f"Received: deadline={deadline}, retries={retries}, backoff={backoff}"
            )
        self.model, self.deadline = model, deadline
        self.retries, self.backoff = retries, backoff

    def _answer(self, signature, chunk):
        for attempt in range(self.retries + 1):
            try:
                return self._attempt(signature, chunk)
            except _Transient as error:
                if attempt == self.retries:
                    raise error.final from error
                time.sleep(self.backoff * 2**attempt * random.uniform(0.5, 1.0))

    @abc.abstractmethod
    def _attempt(self, signature, inputs):
        """Makes one attempt, like `_answer`; raises _Transient if another attempt may help."""

    def _transient(self, late, where, reason):
        kind = TimeoutError if late else ConnectionError
        within = f"Expected an answer from {where} within {self.deadline} s"
        return _Transient(kind(f"{within} ({self.retries + 1} attempts). Received: {reason}"))

    def _refused(self, missing, where, reason):
        wanted = f"model {self.model!r} at {where}"
        wanted = wanted if missing else f"a request that {wanted} understands"
        return ValueError(f"Expected {wanted}. Received: {reason}")


class GrpcClient(_Client):
    """Calls the signatures of any served model over gRPC.

    Args:
        address: "host:port" of the server's gRPC port.
        model: name of the model.
        deadline: float > 0. Timeout of one attempt in seconds.
        retries: int ≥ 0. Attempts after the first, on UNAVAILABLE and DEADLINE_EXCEEDED.
        backoff: float ≥ 0. Seconds before the first retry; doubles with each further one.

    Raises:
        ValueError: a number out of its range.
        ImportError: grpcio or tensorflow-serving-api is not installed.
    """

    def __init__(self, address, model, deadline=10.0, retries=3, backoff=0.1):
        super().__init__(model, deadline, retries, backoff)
        try:
            import grpc
            from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
        except ImportError as error:
            raise ImportError(
                "Expected grpcio and tensorflow-serving-api. Install them: "
                "pip install 'keras-attn[client]'"
            ) from error
        self.address, self._request = address, predict_pb2.PredictRequest
        options = {
            "grpc.max_send_message_length": -1,
            "grpc.max_receive_message_length": -1,
            "grpc.initial_reconnect_backoff_ms": 100,
        }
        self._channel = grpc.insecure_channel(address, list(options.items()))
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def close(self):
        """Closes the connection."""
        self._channel.close()

    def _attempt(self, signature, inputs):
        import grpc
        import tensorflow as tf

        request = self._request()
        request.model_spec.name, request.model_spec.signature_name = self.model, signature
        for key, values in inputs.items():
            request.inputs[key].CopyFrom(tf.make_tensor_proto(values, tf.string))
        try:
            response = self._stub.Predict(request, timeout=self.deadline)
        except grpc.RpcError as error:
            code = error.code()
            reason = f"{code.name}: {error.details()}"
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                late = code is grpc.StatusCode.DEADLINE_EXCEEDED
                raise self._transient(late, self.address, reason) from error
            missing = code is grpc.StatusCode.NOT_FOUND
            raise self._refused(missing, self.address, reason) from error
        return {key: tf.make_ndarray(value) for key, value in response.outputs.items()}


class RestClient(_Client):
    """Calls the signatures of any served model over HTTP, with the standard library alone.

    JSON numbers are untyped: integers are returned as int32 (int64 if one does not fit), others as
    float32. TF Serving does not name a single output; it is returned as "outputs".

    Args:
        url: URL of the server's REST port, such as "http://host:8501".
        model: name of the model.
        deadline: float > 0. Timeout of one attempt in seconds.
        retries: int ≥ 0. Attempts after the first, on status 503, timeouts and lost connections.
        backoff: float ≥ 0. Seconds before the first retry; doubles with each further one.

    Raises:
        ValueError: a number out of its range.
    """

    def __init__(self, url, model, deadline=10.0, retries=3, backoff=0.1):
        super().__init__(model, deadline, retries, backoff)
        self.url = url.rstrip("/")
        self._endpoint = f"{self.url}/v1/models/{urllib.parse.quote(model, safe='')}:predict"

    def _attempt(self, signature, inputs):
        values = {key: [_as_json(value) for value in rows] for key, rows in inputs.items()}
        body = {"signature_name": signature, "inputs": values}
        content, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(self._endpoint, content, headers)
        try:
            outputs = json.loads(self._read(request))["outputs"]
        except urllib.error.HTTPError as error:
            with error:
                reason = f"HTTP {error.code}: {error.read().decode(errors='replace')}"
            if error.code == 503:
                raise self._transient(False, self.url, reason) from error
            raise self._refused(error.code == 404, self.url, reason) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise self._transient(isinstance(reason, TimeoutError), self.url, reason) from error
        except (ValueError, KeyError, TypeError) as error:
            reason = f"an answer that TF Serving would not give ({error!r})"
            raise self._refused(False, self.url, reason) from error
        named = outputs if isinstance(outputs, dict) else {"outputs": outputs}
        return {key: _array(value) for key, value in named.items()}

    def _read(self, request):
        """The body of the answer; raises TimeoutError if the deadline passes while reading."""
        end, body = time.monotonic() + self.deadline, b""
        with urllib.request.urlopen(request, timeout=self.deadline) as response:
            while piece := response.read1(_PIECE_OF_ANSWER):
                body += piece
                if time.monotonic() > end:
                    raise TimeoutError("timed out while reading the answer")
        return body


def _as_json(value):
    """Text unchanged, bytes in TF Serving's base64 form."""
    return value if isinstance(value, str) else {"b64": base64.b64encode(value).decode()}


def _array(value):
    """JSON lists to the array that the SavedModel gave."""
    array = np.array(value)
    if array.dtype.kind in "UO":
        return np.vectorize(_as_bytes, [object])(np.array(value, object))
    small = array.astype({"f": "float32", "i": "int32"}.get(array.dtype.kind, array.dtype))
    return array if array.dtype.kind == "i" and (small != array).any() else small


def _as_bytes(value):
    """A string of TF Serving, which gives outputs named *_bytes in base 64."""
    return value.encode() if isinstance(value, str) else base64.b64decode(value["b64"])
