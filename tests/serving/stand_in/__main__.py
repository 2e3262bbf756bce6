"""Answers for a SavedModel over gRPC and REST as TF Serving does, on this machine only.

Run as `python -m tests.serving.stand_in SAVED_MODEL --batching deploy/batching_parameters.txt`. It
answers the model's warm-up requests, prints both addresses and answers until it is stopped. The
SavedModel runs in a session of TensorFlow's C interface, or with `--python` as `keras_attn.load`
loads it.
"""

import argparse
import signal
import threading

from keras_attn.saved.loading import load
from keras_attn.saved.session import SavedSession
from tests.serving.stand_in.batching import batched
from tests.serving.stand_in.servers import grpc_server, rest_server
from tests.serving.stand_in.serving_messages import read_batching_parameters, read_session_config
from tests.serving.stand_in.warm_up import warm_up

GRPC, REST = "gRPC: ", "REST: "


def main(arguments=None) -> None:
    """Serves until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("saved_model", help="folder of a SavedModel or of its versions")
    parser.add_argument("--name", default="model", help="of the model (default: model)")
    parser.add_argument("--batching", help="file of TF Serving's batching parameters")
    parser.add_argument("--session", help="file of the session's ConfigProto, as text")
    parser.add_argument("--python", action="store_true", help="as keras_attn.load does")
    parser.add_argument("--grpc-port", type=int, default=0, help="0 (default): a free one")
    parser.add_argument("--rest-port", type=int, default=0, help="0 (default): a free one")
    given = parser.parse_args(arguments)
    parameters = read_batching_parameters(given.batching) if given.batching else None
    config = read_session_config(given.session).SerializeToString() if given.session else b""
    servable = load(given.saved_model) if given.python else SavedSession(given.saved_model, config)
    warm_up(servable)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with (
        batched(servable, parameters) as answering,
        grpc_server(answering, given.name, given.grpc_port) as address,
        rest_server(answering, given.name, given.rest_port) as url,
    ):
        print(f"{GRPC}{address}", flush=True)
        print(f"{REST}{url}", flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
