"""Servers in threads of this process, over gRPC and HTTP, for tests and benchmarks."""

import concurrent.futures
import contextlib
import socket
import threading
from collections.abc import Iterator

from keras_attn_pipelines.saved.servable import Servable

THREADS = 64
"""Requests that a server answers at the same time; as many may wait for a batch."""


@contextlib.contextmanager
def grpc_server(servable: Servable, name: str, port: int = 0) -> Iterator[str]:
    """Context manager of a PredictionService; its address."""
    import grpc
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    from tests.serving.stand_in.prediction_service import PredictionService

    threads = concurrent.futures.ThreadPoolExecutor(THREADS)
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(threads, options=options)
    service = PredictionService(servable, name, THREADS)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        service.close()
        server.stop(None).wait()


@contextlib.contextmanager
def rest_server(servable: Servable, name: str, port: int = 0) -> Iterator[str]:
    """Context manager of the REST interface; its URL."""
    from keras_attn_pipelines.saved.rest import rest_application

    with running(rest_application(servable, name), port) as url:
        yield url


@contextlib.contextmanager
def running(
    application, port: int = 0, seconds: float = 60.0, log_level: str = "critical"
) -> Iterator[str]:
    """Context manager of a web application's server; its URL."""
    from keras_attn_pipelines.saved.receiving import server

    with socket.create_server(("127.0.0.1", port)) as listening:
        running = server(application, seconds, log_level)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            running.should_exit = True
            thread.join(60)
