"""Small servers that speak as TF Serving does, over gRPC and over HTTP, in the tests' process."""

import base64
import contextlib
import json
import socketserver
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


class Backend:
    """Answers requests for one model; first plays its troubles, one a request.

    Args:
        model: name of the model.
        answer: function (signature, inputs) -> dict of arrays; inputs are lists of bytes.
        troubles: iterable of "unavailable", "slow" (waits until `release`) or "refused".
    """

    def __init__(self, model, answer, troubles=()):
        self.model, self.answer, self.troubles = model, answer, list(troubles)
        self.asked, self._released = 0, threading.Event()

    def trouble(self, model):
        """What is wrong with this request, or None."""
        self.asked += 1
        if model != self.model:
            return "missing"
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble == "slow":
            self._released.wait(60)
        return trouble

    def release(self):
        """Lets slow requests go."""
        self._released.set()


@contextlib.contextmanager
def grpc_server(backend):
    """A PredictionService; yields its address."""
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    codes = {
        "missing": (grpc.StatusCode.NOT_FOUND, "Servable not found for request"),
        "unavailable": (grpc.StatusCode.UNAVAILABLE, "no free worker"),
        "refused": (grpc.StatusCode.INVALID_ARGUMENT, "no such input"),
    }

    class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, request, context):
            trouble = backend.trouble(request.model_spec.name)
            if trouble in codes:
                context.abort(*codes[trouble])
            inputs = {key: tf.make_ndarray(value).tolist() for key, value in request.inputs.items()}
            response = predict_pb2.PredictResponse()
            for key, value in backend.answer(request.model_spec.signature_name, inputs).items():
                is_proto = hasattr(value, "tensor_shape")
                response.outputs[key].CopyFrom(value if is_proto else tf.make_tensor_proto(value))
            return response

    server = grpc.server(futures.ThreadPoolExecutor(4))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        backend.release()
        server.stop(None).wait()


@contextlib.contextmanager
def rest_server(backend):
    """TF Serving's REST interface, columns only; yields its URL."""
    codes = {"missing": 404, "unavailable": 503, "refused": 400}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model = self.path.removeprefix("/v1/models/").removesuffix(":predict")
            trouble = backend.trouble(model)
            if trouble in codes:
                self.reply(codes[trouble], {"error": f"{trouble}: {model}"})
                return
            inputs = {key: read(values) for key, values in body["inputs"].items()}
            answer = backend.answer(body["signature_name"], inputs)
            self.reply(200, {"outputs": {key: listed(value) for key, value in answer.items()}})

        def reply(self, code, content):
            data = json.dumps(content).encode()
            with contextlib.suppress(ConnectionError):
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_):
            """No lines on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        backend.release()
        server.shutdown()
        thread.join()
        server.server_close()


def read(value):
    """JSON lists of strings, or of objects with b64, as lists of bytes."""
    if isinstance(value, list):
        return [read(part) for part in value]
    return value.encode() if isinstance(value, str) else base64.b64decode(value["b64"])


def listed(value):
    """An array as JSON lists, strings as text."""
    value = np.asarray(value)
    if value.dtype == object:
        return np.vectorize(bytes.decode, [object])(value).tolist()
    return value.tolist()


@contextlib.contextmanager
def raw_server(talk):
    """A server that reads a request and lets `talk` say to its connection what it likes."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.request.recv(1 << 16)
                talk(self.request)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
