"""Batches of training made by the workers of a tf.data service, in their order."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from keras_attn_pipelines.data.ahead import ahead
from keras_attn_pipelines.data.training_data import TrainingData

LATE = 64
"""Batches that may overtake one before it is made here instead."""
PATIENCE = 60.0
"""Seconds to wait for the workers before a batch is made here instead."""


@dataclass(frozen=True)
class DataService:
    """A dispatcher of tf.data service with its workers.

    Each step goes to one worker. What arrives is put in the order of the steps; a step that is
    missing, such as that of a worker that was lost, is made here. So the batches are those of a
    training without the service, whatever the workers do.

    Attributes:
        address: "HOST:PORT" of the dispatcher.
        patience: seconds to wait for a batch before it is made here.
    """

    address: str
    patience: float = PATIENCE

    def check(self, data: TrainingData) -> Callable[[Any], Any]:
        """The function that makes the batches; raises ValueError if workers cannot run it."""
        if data.batch is None:
            raise ValueError(
                "Expected batches that TensorFlow's graph makes alone, as --data-service needs "
                "them. Received: batches made in Python (drawn sequences, BPE dropout), from "
                "cached features, or from ArrayRecord shards with pictures (prepare them with "
                "--format tfrecord)"
            )
        return data.batch

    def training(self, data: TrainingData, start: int) -> tf.data.Dataset:
        """See `TrainingData.training`."""
        batch = self.check(data)
        steps = tf.data.Dataset.range(start, tf.int64.max)
        made = steps.map(lambda step: (step, batch(step)))
        served = made.apply(
            tf.data.experimental.service.distribute(
                processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
                service=f"grpc://{self.address}",
            )
        )
        _, spec = made.element_spec

        def batches():
            yield from in_order(_Arrivals(served), start, tf.function(batch), self.patience)

        return ahead(tf.data.Dataset.from_generator(batches, output_signature=spec))


class _Arrivals:
    """Pairs of a step and its batch, in whatever order they come, with a time limit."""

    def __init__(self, served: tf.data.Dataset):
        self._arrived: queue.Queue = queue.Queue(maxsize=2)
        self._closed = threading.Event()
        threading.Thread(target=self._fetch, args=(served,), daemon=True).start()

    def _fetch(self, served):
        try:
            for step, batch in served:
                while not self._closed.is_set():
                    try:
                        self._arrived.put((int(step), batch), timeout=1.0)
                        break
                    except queue.Full:
                        continue
                if self._closed.is_set():
                    return
        except tf.errors.OpError as error:  # The dispatcher has gone: every step is made here.
            print(f"\ndata service: {error.message:.200}", flush=True)

    def next(self, seconds: float) -> tuple[int, Any] | None:
        """The next pair; None if none came in some seconds."""
        try:
            return self._arrived.get(timeout=seconds) if seconds else self._arrived.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """Ends fetching."""
        self._closed.set()


def in_order(
    arrivals: Any, start: int, batch: Callable[[tf.Tensor], Any], patience: float = PATIENCE
) -> Iterator[Any]:
    """The batches of all steps from `start` on, in order.

    Args:
        arrivals: has `next(seconds)`, which returns a step with its batch, or None after so many
            seconds without one; and `close()`.
        start: first step.
        batch: function from a step, int64 scalar, to its batch, for steps that do not arrive.
        patience: seconds to wait for a step.
    """
    waiting: dict[int, Any] = {}
    step, seconds = start, patience
    try:
        while True:
            while step in waiting:
                yield waiting.pop(step)
                step += 1
            arrival = arrivals.next(seconds)
            if arrival is not None:
                seconds = patience
                if arrival[0] >= step:
                    waiting[arrival[0]] = arrival[1]
            elif seconds:
                print(
                    f"\ndata service: nothing in {seconds:.0f} s, making batches here", flush=True
                )
                seconds = 0.0
            if step not in waiting and (not seconds or len(waiting) >= LATE):
                waiting[step] = batch(tf.constant(step, tf.int64))
    finally:
        arrivals.close()


def run_dispatcher(port: int) -> None:
    """Runs a dispatcher until the process ends."""
    configuration = tf.data.experimental.service.DispatcherConfig(port=port)
    server = tf.data.experimental.service.DispatchServer(configuration)
    print(f"dispatcher: {server.target.removeprefix('grpc://')}", flush=True)
    _run(server)


def run_worker(dispatcher: str, port: int, host: str) -> None:
    """Runs a worker until the process ends.

    Args:
        dispatcher: "HOST:PORT".
        port: to listen at; 0 for any.
        host: name under which the dispatcher and the training reach this machine.
    """
    import tensorflow_text  # noqa: F401  (registers the ops of tokenizers)

    configuration = tf.data.experimental.service.WorkerConfig(
        dispatcher_address=dispatcher, worker_address=f"{host}:%port%", port=port
    )
    server = tf.data.experimental.service.WorkerServer(configuration)
    print(f"worker of {dispatcher}", flush=True)
    _run(server)


def _run(server):
    """Keeps a server until the process is interrupted, which its own `join` does not allow."""
    signal.pause()
    del server
