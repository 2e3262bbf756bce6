"""Processes on this machine that train together."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

from tests.processes import ROOT


def start(module, *arguments, folder):
    """Starts `python -m module arguments…` as workers on loopback, one for each arguments.

    Args:
        module: name of the module.
        *arguments: list of arguments of each worker.
        folder: for what they print, as `out0`, `err0` and so on.

    Returns:
        list of `subprocess.Popen`, the chief's first.
    """
    addresses = [f"127.0.0.1:{port}" for port in _free_ports(len(arguments))]
    folder.mkdir(parents=True, exist_ok=True)
    workers = []
    for index, given in enumerate(arguments):
        task = {"type": "worker", "index": index}
        config = json.dumps({"cluster": {"worker": addresses}, "task": task})
        with (folder / f"out{index}").open("w") as out, (folder / f"err{index}").open("w") as err:
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", module, *map(str, given)],
                    cwd=ROOT,
                    env={**os.environ, "TF_CONFIG": config},
                    stdout=out,
                    stderr=err,
                )
            )
    return workers


def ended(workers, seconds=300):
    """Waits for workers to end.

    Returns:
        exit code and time of each, in seconds on one clock.
    """
    codes, deadline = {}, time.monotonic() + seconds
    try:
        while len(codes) < len(workers) and time.monotonic() < deadline:
            for place, worker in enumerate(workers):
                if place not in codes and worker.poll() is not None:
                    codes[place] = (worker.returncode, time.monotonic())
            time.sleep(0.05)
    finally:
        for worker in workers:
            worker.kill()
    return [codes.get(place, (None, deadline)) for place in range(len(workers))]


def printed(folder, index):
    """What a worker wrote to standard output and to standard error."""
    return (folder / f"out{index}").read_text(), (folder / f"err{index}").read_text()


def run(module, *arguments, folder):
    """Runs workers to their end; they must succeed."""
    codes = ended(start(module, *arguments, folder=folder))
    for index, (code, _) in enumerate(codes):
        assert code == 0, (index, code, printed(folder, index)[1][-3000:])


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
