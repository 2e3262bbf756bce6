"""Servers in trouble: a model that fails as it is told to, and one that speaks no HTTP."""

import contextlib
import socketserver
import threading

from keras_attn_pipelines.saved.servable import Unavailable
from tests.serving.stand_in import servers


class Backend:
    """A `Servable` that answers by a function; first plays its troubles, one a request.

    Args:
        name: of the model.
        answer: function (signature, inputs) -> dict of arrays.
        troubles: iterable of "unavailable", "slow" (waits until `release`), "refused" or "none".
        inputs: names of every signature's inputs.
    """

    version = "1"

    def __init__(self, name, answer, troubles=(), inputs=("image",)):
        self.name, self.answer, self.troubles = name, answer, list(troubles)
        self.inputs = list(inputs)
        self.asked, self._released = 0, threading.Event()

    def inputs_of(self, signature):
        return self.inputs

    def signature_shapes(self):
        return {}

    def outputs(self, signature, columns):
        self.asked += 1
        trouble = self.troubles.pop(0) if self.troubles else "none"
        if trouble == "slow":
            self._released.wait(60)
        if trouble == "unavailable":
            raise Unavailable("no free worker")
        if trouble == "refused":
            raise ValueError("no such input")
        return self.answer(signature, columns)

    def release(self):
        """Lets slow requests go."""
        self._released.set()


@contextlib.contextmanager
def grpc_server(backend):
    """A PredictionService of a `Backend`; yields its address."""
    with servers.grpc_server(backend, backend.name) as address:
        try:
            yield address
        finally:
            backend.release()


@contextlib.contextmanager
def rest_server(backend):
    """The REST interface of a `Backend`; yields its URL."""
    with servers.rest_server(backend, backend.name) as url:
        try:
            yield url
        finally:
            backend.release()


@contextlib.contextmanager
def raw_server(talk):
    """A server that reads a request and lets `talk` say to its connection what it likes."""
    talking = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            talking.append(threading.current_thread())
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
            for ending in (thread, *talking):
                ending.join(10)
                assert not ending.is_alive(), "a server that works on slows all later tests"
