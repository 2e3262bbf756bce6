"""Requests a second and their latency under the load of many clients.

Run as `python -m benchmarks.serving_load --clients 32 --seconds 60`. Each client asks over gRPC for
one row after the other, of a server in another process: the stand-in for TF Serving, whose session
is in C, with every request a batch of its own, and with dynamic batching as in deploy/. Beside it
the same server with the model that `keras_attn.load` loads, and that model in this process, asked
by as many threads without a server.

A request is one drawn JPEG of 500×375 pixels, or one short text. Percentiles are of the answered
requests. Models have answered their warm-up requests before, and the first seconds, `--warm-up`, do
not count.
"""

import argparse
import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.timing import table
from keras_attn.cores import cores
from keras_attn.saved.loading import load
from keras_attn.serving.client import GrpcClient
from tests.serving.stand_in.__main__ import GRPC
from tests.serving.stand_in.warm_up import warm_up
from tests.serving.valid_requests import valid_rows

HEAD = ("answered by", "requests/s", "p50, ms", "p95, ms", "p99, ms", "answered", "refused")
PICTURE = (500, 375)
ROWS = 64
MODEL = "model"
DEADLINE = 120.0


class Load(NamedTuple):
    """What clients saw.

    Attributes:
        latencies: float (answered,), seconds.
        refused: int. Requests without an answer.
        seconds: float, of the measurement.
    """

    latencies: np.ndarray
    refused: int
    seconds: float

    def row(self, name: str) -> list[str]:
        """A row of the table."""
        answered = len(self.latencies)
        if not answered:
            return [name, "0", "", "", "", "0", str(self.refused)]
        percentiles = np.percentile(self.latencies, (50, 95, 99))
        cells = [f"{answered / self.seconds:.1f}", *(f"{1000 * x:.0f}" for x in percentiles)]
        return [name, *cells, str(answered), str(self.refused)]


def measured(clients: list[Callable[[int], object]], seconds: float, warm_up: float = 0.0) -> Load:
    """The load of clients that ask at the same time, each in a thread of its own.

    Args:
        clients: functions of a number that ask for one row; errors of `ask` are refusals.
        seconds: float > 0. How long is measured.
        warm_up: float ≥ 0. Seconds before that.
    """
    begin = time.monotonic() + warm_up
    latencies: list[list[float]] = [[] for _ in clients]
    refused = [0] * len(clients)

    def work(place):
        number = place
        while (asked := time.monotonic()) < begin + seconds:
            try:
                clients[place](number)
                if asked >= begin:
                    latencies[place].append(time.monotonic() - asked)
            except (ConnectionError, TimeoutError, ValueError):
                refused[place] += asked >= begin
            number += len(clients)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flat = np.array([value for client in latencies for value in client])
    return Load(flat, sum(refused), time.monotonic() - begin)


@contextlib.contextmanager
def server(saved_model, *options: str):
    """Context manager of the stand-in in a process of its own; its gRPC address.

    Raises:
        RuntimeError: it did not start.
    """
    command = [sys.executable, "-m", "tests.serving.stand_in", str(saved_model), "--name", MODEL]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline().strip()
            if not line.startswith(GRPC):
                raise RuntimeError(f"Expected a server of {saved_model}. Received: {line!r}")
            yield line.removeprefix(GRPC)
        finally:
            process.terminate()


def over_grpc(address, signature, rows, count):
    """Clients of a server; they end with the process."""

    def client():
        asked = GrpcClient(address, MODEL, deadline=DEADLINE)
        return lambda number: asked.ask(signature, **columns(rows[number % len(rows)]))

    return [client() for _ in range(count)]


def columns(row):
    """A row as a batch of one."""
    return {key: [value] for key, value in row.items()}


def compare(given) -> str:
    """The table of the load tests."""
    saved = load(given.saved_model)
    rows = valid_rows(saved.folder, ROWS, PICTURE)[given.signature]
    servers = {
        "C API, batch 1": (),
        "C API, dynamic batching": ("--batching", given.batching),
        "`keras_attn.load`, batch 1": ("--python",),
    }
    lines = []
    for name, options in servers.items():
        with server(given.saved_model, *options) as address:
            clients = over_grpc(address, given.signature, rows, given.clients)
            lines.append(measured(clients, given.seconds, given.warm_up).row(name))

    warm_up(saved)

    def direct(number):
        saved.outputs(given.signature, columns(rows[number % len(rows)]))

    alone = measured([direct] * given.clients, given.seconds, given.warm_up)
    lines.append(alone.row("`keras_attn.load`, no server"))
    head = f"{cores()} cores, {given.clients} clients, {given.seconds:g} s, {given.signature}"
    return f"{head}\n\n{table(HEAD, lines)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saved-model", default="saved_models/flickr8k_captioner")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--batching", default="deploy/batching_parameters.txt")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0, help="measured (default: 60)")
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds before (default: 5)")
    print(compare(parser.parse_args()))
