"""Processes that train one model together: what they agree on, and the death of one of them."""

import _thread
import contextlib
import io
import json
import signal
import socket
import threading
from typing import Any

import keras
import numpy as np

from keras_attn.cluster import LostWorkerError
from keras_attn.lazy_tensorflow import tf

HEAD, PIECE = 8, 1 << 23
"""Numbers of 8 bytes that the first message has, and that another one has at most."""
PATIENCE, PROBES = 5.0, 3
"""A worker is lost if it did not answer for so many seconds, so many times in a row."""
INTERRUPT = signal.SIGUSR1
"""Signal by which the main thread is interrupted; processes in the background ignore SIGINT."""
_LOST = (
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "UnavailableError",
)
"""What TensorFlow raises of a sum that one of the workers does not take part in any more: names in
`tf.errors`."""


class Workers:
    """Tells all workers of a training what the first of them, the chief, has read or decided.

    All workers call the same methods in the same order; a call returns once all are there. Where
    there is one process, it is the chief, and each method returns its argument.

    Args:
        strategy: `MultiWorkerStrategy`; with any other, or None, there is one process.
    """

    def __init__(self, strategy: Any = None):
        self.strategy, self.cluster = strategy, None
        if strategy is not None and keras.backend.backend() == "tensorflow":
            from keras_attn.training.multi_worker_strategy import MultiWorkerStrategy

            if isinstance(strategy, MultiWorkerStrategy):
                self.cluster = strategy.cluster
        self.lost = False

    @property
    def is_chief(self) -> bool:
        """Whether this process decides, and writes the run directory."""
        return self.cluster is None or self.cluster.is_chief

    def say(self, line: str) -> None:
        """Prints a line, on the chief."""
        if self.is_chief:
            print(line, flush=True)

    def told(self, value=None):
        """The chief's value, of JSON types."""
        if self.cluster is None:
            return value
        return json.loads(self._bytes_of_chief(json.dumps(value).encode()))

    def told_arrays(self, arrays=None):
        """The chief's arrays, by name."""
        if self.cluster is None:
            return arrays
        file = io.BytesIO()
        np.savez(file, **(arrays or {}))
        data = self._bytes_of_chief(file.getvalue())
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def check_equal(self, values):
        """Raises ValueError on all workers if one of them has other values.

        Args:
            values: dict of JSON types.
        """
        if self.cluster is None:
            return
        chief, mine = self.told(values), json.loads(json.dumps(values))
        differing = [name for name in chief if chief[name] != mine[name]]
        if self._sum(np.array([len(differing)]))[0]:
            received = f"here, other {' and '.join(differing)}" if differing else "others on some"
            raise ValueError(
                "Expected the same command and data on all workers as on the chief. "
                f"Received: {received}"
            )

    @contextlib.contextmanager
    def watched(self):
        """Ends with an error, in seconds, if another worker does; in the main thread.

        Raises:
            LostWorkerError: another worker ended, or cannot be reached.
        """
        if self.cluster is None:
            yield
            return
        done = threading.Event()
        handler = signal.signal(INTERRUPT, signal.default_int_handler)
        threading.Thread(target=self._watch, args=(done,), daemon=True).start()
        try:
            yield
            self.told()  # Nobody leaves before all are done.
        except _lost() as error:
            if isinstance(error, KeyboardInterrupt) and not self.lost:
                raise
            raise LostWorkerError(
                f"Expected {len(self.cluster.addresses)} workers until training ends. Received: "
                f"{self._reason(error)}; start all again to resume from the last checkpoint, if any"
            ) from error
        finally:
            done.set()
            signal.signal(INTERRUPT, handler)

    def _reason(self, error):
        """Who does not answer; if all do, as a worker that has just failed may, what TensorFlow
        says."""
        if gone := [address for address in self.cluster.others if not _answers(address)]:
            return f"no answer from {', '.join(gone)}"
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        lines.append("no answer from one of them for a while")
        return next((line for line in lines if "abort" in line), lines[0]).rstrip(":")

    def _watch(self, done):
        """Interrupts the main thread once another worker is lost, while it computes alone."""
        silent = 0
        while not done.wait(PATIENCE):
            silent = 0 if all(map(_answers, self.cluster.others)) else silent + 1
            if silent == PROBES and not done.is_set():
                self.lost = True
                _thread.interrupt_main(INTERRUPT)

    def _bytes_of_chief(self, data: bytes) -> bytes:
        """The chief's bytes: their number and the first ones in one message, then the others."""
        numbers = np.frombuffer(data.ljust(-(-len(data) // 8) * 8, b"\0"), "int64")
        numbers = np.append(len(data), numbers) if self.is_chief else np.zeros(0, "int64")
        pieces = [self._sum(_piece(numbers, 0, HEAD))]
        size = int(pieces[0][0])
        for start in range(HEAD, 1 + -(-size // 8), PIECE):
            length = min(PIECE, 1 + -(-size // 8) - start)
            pieces.append(self._sum(_piece(numbers, start, length)))
        return np.concatenate(pieces)[1:].tobytes()[:size]

    def _sum(self, numbers):
        """int64 (N,): sum over workers."""

        def of_replica(context):
            local = context.num_replicas_in_sync // len(self.cluster.addresses)
            is_first = context.replica_id_in_sync_group % local == 0
            return tf.constant(numbers if is_first else np.zeros_like(numbers))

        values = self.strategy.experimental_distribute_values_from_function(of_replica)
        return self.strategy.reduce("SUM", values, axis=None).numpy()


def _lost():
    """What is raised in the main thread when another worker is lost."""
    return (*(getattr(tf.errors, name) for name in _LOST), KeyboardInterrupt)


def _piece(numbers, start, length):
    """So many numbers, 0 past the end."""
    piece = numbers[start : start + length]
    return np.pad(piece, (0, length - len(piece)))


def _answers(address):
    """Whether a process accepts connections there."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), PATIENCE):
        return True
    return False
