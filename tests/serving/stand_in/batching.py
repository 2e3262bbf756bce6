"""Dynamic batching, as TF Serving does it: requests that arrive together are answered together."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_attn.saved.session import array_of
from keras_attn_pipelines.saved.servable import Servable, Unavailable


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """TF Serving's BatchingParameters; its defaults.

    Attributes:
        max_batch_size: int > 0. Most rows of a batch, and of a request.
        batch_timeout_micros: int ≥ 0. Microseconds that a batch waits for more rows.
        max_enqueued_batches: int > 0. Batches of a signature that may wait.
        num_batch_threads: int > 0. Batches that are answered at the same time.
        allowed_batch_sizes: increasing ints, the last of them `max_batch_size`. A batch is filled
            up with copies of a row to the next of them; with none, never.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = 1
    allowed_batch_sizes: tuple[int, ...] = ()

    def padded(self, rows: int) -> int:
        """Rows of a batch of so many rows once it is filled up."""
        return next((size for size in self.allowed_batch_sizes if size >= rows), rows)


@dataclasses.dataclass
class _Batch:
    """Requests to one signature, all with the same inputs.

    Attributes:
        key: signature and names of the inputs.
        due: time.monotonic() at which it waits no longer.
        tasks: pairs of a request's arrays by input, and the future of its answer.
        rows: int, of all requests.
    """

    key: tuple[str, tuple[str, ...]]
    due: float
    tasks: list = dataclasses.field(default_factory=list)
    rows: int = 0


class Batched:
    """A `Servable` that answers requests in batches of another's rows; a context manager.

    As in TF Serving, a request of more rows than a batch may have is refused, and so is one whose
    inputs have different numbers of rows. Requests whose shapes or types differ beyond the rows
    spoil the batch that they share. Differs: requests whose deadline passes while they wait are
    answered all the same, to nobody; a request of no rows never waits.

    Args:
        servable: the model.
        parameters: `BatchingParameters`.

    Source: tensorflow_serving/batching/batching_session.cc.
    """

    def __init__(self, servable: Servable, parameters: BatchingParameters):
        self._servable, self._parameters = servable, parameters
        self._changed = threading.Condition()
        self._waiting: collections.deque[_Batch] = collections.deque()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._work, name="batches", daemon=True)
            for _ in range(parameters.num_batch_threads)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    @property
    def version(self) -> str:
        """See `Servable`."""
        return self._servable.version

    def inputs_of(self, signature: str) -> list[str]:
        """See `Servable`."""
        return self._servable.inputs_of(signature)

    def signature_shapes(self) -> dict[str, Any]:
        """See `Servable`."""
        return self._servable.signature_shapes()

    @property
    def waiting(self) -> int:
        """Batches that wait for a thread or for more rows."""
        return len(self._waiting)

    def outputs(self, signature: str, columns: Mapping[str, Any]) -> dict[str, Any]:
        """See `Servable`."""
        arrays = {key: array_of(rows) for key, rows in sorted(columns.items())}
        if sorted(self.inputs_of(signature)) != list(arrays):
            return self._servable.outputs(signature, arrays)  # Says what is wrong.
        if any(array.ndim == 0 for array in arrays.values()):
            raise ValueError("Batching Run() input tensors must have at least one dimension")
        if len({len(array) for array in arrays.values()}) != 1:
            raise ValueError("Batching Run() input tensors must have equal 0th-dimension size")
        if not (rows := len(next(iter(arrays.values())))):
            return self._servable.outputs(signature, arrays)
        if rows > self._parameters.max_batch_size:
            raise ValueError(
                f"Task size {rows} is larger than maximum input batch size "
                f"{self._parameters.max_batch_size}"
            )
        return self._enqueued((signature, tuple(arrays)), arrays, rows).result()

    def _enqueued(self, key, arrays, rows):
        """The future of a request's answer."""
        future: concurrent.futures.Future = concurrent.futures.Future()
        with self._changed:
            batches = [batch for batch in self._waiting if batch.key == key]
            if not batches or batches[-1].rows + rows > self._parameters.max_batch_size:
                if self._stopped or len(batches) >= self._parameters.max_enqueued_batches:
                    raise Unavailable(
                        "The batch scheduling queue to which this task was submitted is full"
                    )
                due = time.monotonic() + self._parameters.batch_timeout_micros / 1e6
                batches.append(_Batch(key, due))
                self._waiting.append(batches[-1])
            batches[-1].tasks.append((arrays, future))
            batches[-1].rows += rows
            self._changed.notify_all()
        return future

    def _work(self):
        """Answers batches until the end; those that still wait then, too."""
        while (batch := self._next()) is not None:
            try:
                answers = self._answered(batch)
            except Exception as error:
                for _, future in batch.tasks:
                    future.set_exception(error)
            else:
                for (_, future), answer in zip(batch.tasks, answers):
                    future.set_result(answer)

    def _next(self):
        """The first batch that is full or due; None at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                for batch in self._waiting:
                    if self._stopped or self._is_closed(batch) or batch.due <= now:
                        self._waiting.remove(batch)
                        return batch
                if self._stopped:
                    return None
                first_due = min((batch.due for batch in self._waiting), default=None)
                self._changed.wait(None if first_due is None else first_due - now)

    def _is_closed(self, batch):
        """Whether no row fits in, or a later batch of its kind has been begun."""
        later = [other for other in self._waiting if other.key == batch.key]
        return batch.rows >= self._parameters.max_batch_size or later[-1] is not batch

    def _answered(self, batch):
        """The outputs of each request of a batch."""
        signature, names = batch.key
        columns = {name: self._merged(name, batch) for name in names}
        outputs = self._servable.outputs(signature, columns)
        for key, value in outputs.items():
            if value.shape[:1] != (self._parameters.padded(batch.rows),):
                raise RuntimeError(
                    f"Batched output tensor's 0th dimension does not equal the sum of the 0th "
                    f"dimension sizes of the input tensors: {key} of shape {value.shape}"
                )
        sizes = [len(arrays[names[0]]) for arrays, _ in batch.tasks]
        ends = np.cumsum(sizes)
        return [
            {key: value[end - size : end] for key, value in outputs.items()}
            for size, end in zip(sizes, ends)
        ]

    def _merged(self, name, batch):
        """An input of all requests, filled up with copies of the last one's first row."""
        parts = [arrays[name] for arrays, _ in batch.tasks]
        if len({(part.shape[1:], part.dtype) for part in parts}) != 1:
            raise RuntimeError(
                f"Tensors with name {name!r} from different tasks have different shapes and "
                "padding is turned off, or different types."
            )
        missing = self._parameters.padded(batch.rows) - batch.rows
        return np.concatenate([*parts, *[parts[-1][:1]] * missing])


def batched(servable: Servable, parameters: BatchingParameters | None):
    """Context manager of a model whose requests are batched, or of the model itself."""
    return contextlib.nullcontext(servable) if parameters is None else Batched(servable, parameters)
