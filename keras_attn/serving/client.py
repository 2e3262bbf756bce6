"""Clients of TF Serving over gRPC and REST: deadlines, retries, clear errors.

They need `pip install 'keras-attn[client]'`.
"""

import abc
import asyncio
import base64
import functools
import json
import math
import os
import random
import threading
import time
import urllib.parse
from collections.abc import Sequence

import numpy as np

from keras_attn.extras import extra
from keras_attn.serving.requests import Requests, joined
from keras_attn.serving.tensor_protos import MALFORMED, arrays_of

BATCH = 8
"""Rows of a request. A server that batches refuses requests of more rows than its max_batch_size,
which is 8 in deploy/batching_parameters.txt."""
MAX_ANSWER_BYTES = 1 << 26
MAX_REASON = 1000
"""Characters of what a server says went wrong that are repeated."""
_MAX_ERROR_BYTES = 1 << 16
_MAX_DOUBLINGS = 30
_MAX_SECONDS = 10 * 365 * 24 * 3600
"""Longest wait that gRPC can be told."""


class _Transient(Exception):
    """A transient failure, and whether the server was too late."""

    def __init__(self, late, reason):
        super().__init__(reason)
        self.late = late


class _Call(Requests):
    """One call of a client's `ask`, which ends by a certain time."""

    def __init__(self, client, end):
        self.client, self.end = client, end

    def _answer(self, signature, chunk):
        client = self.client
        for attempt in range(client.retries + 1):
            try:
                seconds = min(max(self.end - time.monotonic(), 1e-3), _MAX_SECONDS)
                answer = client._attempt(signature, chunk, seconds)
                if time.monotonic() > self.end:  # Reading a long answer takes time, too.
                    raise _Transient(True, "an answer that took too long to read")
                return answer
            except _Transient as error:
                wait = client.backoff * 2 ** min(attempt, _MAX_DOUBLINGS)
                wait *= random.uniform(0.5, 1.0)
                if attempt == client.retries or time.monotonic() + wait >= self.end:
                    raise client._failure(error, attempt + 1) from error
                time.sleep(wait)


class _Client(abc.ABC):
    """Abstract: deadlines, retries and clear errors; subclasses make one attempt.

    Besides the errors of `Requests`, `ask` raises TimeoutError (no complete answer within the
    deadline), ConnectionError (the server could not be reached, in the last attempt) or ValueError
    (no such model, a rejected request, or an answer that is none).

    Args:
        address: of the server.
        model: name of the model.
        deadline: float > 0. Seconds that `ask` may take, retries included.
        retries: int ≥ 0. Attempts after the first.
        backoff: float ≥ 0. Seconds before the first retry; each later wait is twice as long. Random
            jitter shortens waits by up to a half, so that clients do not retry in sync.
        max_answer_bytes: int > 0. Longest answer that is read.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(
        self,
        address,
        model,
        deadline=10.0,
        retries=3,
        backoff=0.1,
        max_answer_bytes=MAX_ANSWER_BYTES,
    ):
        counts = {"retries": (retries, 0), "max_answer_bytes": (max_answer_bytes, 1)}
        for name, (count, least) in counts.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < least:
                raise ValueError(f"Expected an int {name} >= {least}. Received: {name}={count!r}")
        for name, seconds in {"deadline": deadline, "backoff": backoff}.items():
            number = isinstance(seconds, int | float) and math.isfinite(seconds)
            if not number or seconds < 0 or (name == "deadline" and seconds == 0):
                sign = ">" if name == "deadline" else ">="
                raise ValueError(f"Expected a finite {name} {sign} 0. Received: {name}={seconds!r}")
        self.address, self.model, self.deadline = address, model, deadline
        self.retries, self.backoff = retries, backoff
        self.max_answer_bytes = max_answer_bytes
        with extra("client"):
            self._connect()

    @abc.abstractmethod
    def _connect(self):
        """What the constructor does for one protocol."""

    def ask(
        self, signature: str, /, *, batch: int = BATCH, **inputs: Sequence[str | bytes]
    ) -> list[dict]:
        """See `Requests`; all batches and retries together take no longer than the deadline.

        A server that batches requests refuses those of more rows than its `max_batch_size`.
        """
        call = _Call(self, time.monotonic() + self.deadline)
        return call.ask(signature, batch=batch, **inputs)

    @abc.abstractmethod
    def _attempt(self, signature, inputs, seconds):
        """Makes one attempt of so many seconds; raises _Transient if another may help."""

    def _failure(self, error, attempts):
        """What is raised once no attempt is left."""
        kind = TimeoutError if error.late else ConnectionError
        within = f"Expected an answer from {self.address} within {self.deadline} s"
        count = f"{attempts} attempt{'s' if attempts > 1 else ''}"
        return kind(f"{within} ({count}). Received: {_shortened(error)}")

    def _refused(self, missing, reason):
        model = f"model {self.model!r} at {self.address}"
        expected = model if missing else f"a request that {model} understands"
        return ValueError(f"Expected {expected}. Received: {_shortened(reason)}")

    def _malformed(self, error):
        """What is raised of an answer that could not be read."""
        reason = f"an answer that TF Serving would not give ({type(error).__name__}: {error}"
        return self._refused(False, f"{reason:.{MAX_REASON - 1}})")


class GrpcClient(_Client):
    """Calls the signatures of any served model over gRPC.

    Args:
        address: "host:port" of the server's gRPC port.
        model: name of the model.
        deadline: float > 0. Seconds that `ask` may take, retries included.
        retries: int ≥ 0. Attempts after the first, on UNAVAILABLE.
        backoff: float ≥ 0. Seconds before the first retry; doubles with each further one.
        max_answer_bytes: int > 0. Longest answer that is read.

    Raises:
        ValueError: an argument out of its range.
        ImportError: grpcio or tensorflow-serving-api is not installed.
    """

    def _connect(self):
        import grpc
        from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

        self._request = predict_pb2.PredictRequest
        options = {
            "grpc.max_send_message_length": -1,
            "grpc.max_receive_message_length": self.max_answer_bytes,
            "grpc.initial_reconnect_backoff_ms": 100,
        }
        self._channel = grpc.insecure_channel(self.address, list(options.items()))
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def close(self):
        """Closes the connection."""
        self._channel.close()

    def _attempt(self, signature, inputs, seconds):
        import grpc
        import tensorflow as tf

        request = self._request()
        request.model_spec.name, request.model_spec.signature_name = self.model, signature
        for key, values in inputs.items():
            values = joined(_as_utf8(key, values))
            request.inputs[key].CopyFrom(tf.make_tensor_proto(values, tf.string))
        try:
            response = self._stub.Predict(request, timeout=seconds)
        except grpc.RpcError as error:
            code = error.code()
            reason = f"{code.name}: {error.details()}"
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                raise _Transient(code is grpc.StatusCode.DEADLINE_EXCEEDED, reason) from error
            raise self._refused(code is grpc.StatusCode.NOT_FOUND, reason) from error
        try:
            return arrays_of(response.outputs, self.max_answer_bytes)
        except MALFORMED as error:
            raise self._malformed(error) from error


class RestClient(_Client):
    """Calls the signatures of any served model over HTTP.

    JSON has no number types: integers are returned as int32 (int64 if one does not fit), other
    numbers as float32. TF Serving does not name the output of a model that has only one; it is
    returned as "outputs".

    Args:
        address: URL of the server's REST port, as "http://host:8501".
        model: name of the model.
        deadline: float > 0. Seconds that `ask` may take, retries included.
        retries: int ≥ 0. Attempts after the first, on status 503 and lost connections.
        backoff: float ≥ 0. Seconds before the first retry; doubles with each further one.
        max_answer_bytes: int > 0. Longest answer that is read.

    Raises:
        ValueError: an argument out of its range.
        ImportError: aiohttp is not installed.
    """

    def _connect(self):
        import aiohttp  # noqa: F401  (an error before the first call)

        self.address = self.address.rstrip("/")
        path = urllib.parse.quote(self.model, safe="")
        self._endpoint = f"{self.address}/v1/models/{path}:predict"

    def _attempt(self, signature, inputs, seconds):
        import aiohttp

        rows = {key: joined(_as_utf8(key, rows)) for key, rows in inputs.items()}
        values = {key: [_as_json(value) for value in values] for key, values in rows.items()}
        body = json.dumps({"signature_name": signature, "inputs": values}).encode()
        try:
            status, content = asyncio.run_coroutine_threadsafe(
                self._post(body, seconds), _loop(os.getpid())
            ).result()
        except TimeoutError as error:
            raise _Transient(True, "no complete answer") from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise ValueError(f"Expected an http URL. Received: {self.address}") from error
        except (OSError, aiohttp.ClientError, ValueError) as error:
            raise _Transient(False, f"{type(error).__name__}: {error}") from error
        if status != 200:
            reason = f"HTTP {status}: {content.decode(errors='replace')}"
            if status == 503:
                raise _Transient(False, reason)
            raise self._refused(status == 404, reason)
        if len(content) > self.max_answer_bytes:
            most = f"more than max_answer_bytes={self.max_answer_bytes}"
            raise self._refused(False, f"an answer of {most}")
        try:
            outputs = json.loads(content)["outputs"]
            named = outputs if isinstance(outputs, dict) else {"outputs": outputs}
            return {key: _array(value) for key, value in named.items()}
        except MALFORMED as error:
            raise self._malformed(error) from error

    async def _post(self, body, seconds):
        """Status and body of the answer; of more than may be read, a little more than that."""
        import aiohttp

        options = {
            "timeout": aiohttp.ClientTimeout(total=seconds),
            "cookie_jar": aiohttp.DummyCookieJar(),
            "auto_decompress": False,  # A few bytes could become gigabytes.
            "trust_env": True,
            "headers": {"Content-Type": "application/json", "Accept-Encoding": "identity"},
        }
        async with (
            aiohttp.ClientSession(**options) as session,
            session.post(self._endpoint, data=body, allow_redirects=False) as response,
        ):
            most = self.max_answer_bytes if response.status == 200 else _MAX_ERROR_BYTES
            content = bytearray()
            async for piece in response.content.iter_any():
                content += piece
                if len(content) > most:
                    break
            return response.status, bytes(content)


@functools.lru_cache(maxsize=1)
def _loop(process):
    """An event loop in a thread of its own: the caller's may be running, as in a notebook.

    Args:
        process: id of the process; after a fork the thread of the parent's loop is gone.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="keras_attn client", daemon=True).start()
    return loop


def _shortened(reason):
    """Text of a server or an error, as much of it as a message can hold."""
    text = str(reason)
    return text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]} …"


def _as_utf8(key, values):
    """Strings and bytes, or arrays and lists of them, as they are.

    Raises:
        ValueError: something else, or a string that cannot be written as UTF-8.
    """
    for value in values:
        if isinstance(value, list | tuple | np.ndarray):
            _as_utf8(key, value)
            continue
        try:
            if not isinstance(value, bytes):
                value.encode()
        except (AttributeError, UnicodeEncodeError) as error:
            raise ValueError(
                f"Expected strings or bytes as {key}. Received: {value!r:.80}"
            ) from error
    return values


def _as_json(value):
    """Strings unchanged, bytes base64-encoded as TF Serving expects; lists for arrays."""
    if isinstance(value, np.ndarray):
        return [_as_json(part) for part in value]
    return value if isinstance(value, str) else {"b64": base64.b64encode(value).decode()}


def _array(value):
    """JSON lists to the array that the SavedModel returned."""
    array = np.array(value, object)  # An array of strings would make all as long as the longest.
    kinds = set(map(type, array.ravel().tolist()))
    if not kinds <= {bool, int, float}:
        return np.vectorize(_as_bytes, [object])(array)
    array = np.array(array.tolist())
    if array.dtype.kind == "O":
        raise ValueError("an integer beyond 64 bits")
    small = array.astype({"f": "float32", "i": "int32"}.get(array.dtype.kind, array.dtype))
    return array if array.dtype.kind == "i" and (small != array).any() else small


def _as_bytes(value):
    """A string of TF Serving, which encodes outputs named *_bytes in base 64."""
    if isinstance(value, str):
        return value.encode()
    return base64.b64decode(value["b64"], validate=True)
