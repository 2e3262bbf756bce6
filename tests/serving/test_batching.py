"""Dynamic batches of the stand-in: shared, filled up, bounded, split again."""

import time
from concurrent import futures

import numpy as np
import pytest

from keras_attn_pipelines.saved.servable import Unavailable
from tests.serving.servers import Backend
from tests.serving.stand_in.batching import Batched, BatchingParameters


class Echo(Backend):
    """Answers with its input, and remembers the rows of each batch."""

    def __init__(self):
        super().__init__("echo", self.echo, inputs=["x"])
        self.sizes = []

    def echo(self, signature, columns):
        self.sizes.append(len(columns["x"]))
        return {"x": columns["x"], "first": np.repeat(columns["x"][:1], len(columns["x"]), axis=0)}


def at_once(model, requests):
    """Answers, or errors, of requests of threads of their own."""

    def ask(rows):
        try:
            return model.outputs("any", {"x": rows})["x"].tolist()
        except Exception as error:
            return error

    with futures.ThreadPoolExecutor(len(requests)) as threads:
        return list(threads.map(ask, requests))


def test_requests_share_a_batch_and_get_their_own_rows():
    echo, texts = Echo(), [[b"a"], [b"b", b"c"], [b"d"]]
    with Batched(echo, BatchingParameters(4, 60_000_000)) as model:
        assert at_once(model, texts) == texts
    assert echo.sizes == [4]


def test_a_batch_waits_no_longer_than_it_may_and_is_filled_up():
    echo = Echo()
    parameters = BatchingParameters(8, 50_000, allowed_batch_sizes=(1, 4, 8))
    with Batched(echo, parameters) as model:
        answer = model.outputs("any", {"x": [b"a", b"b"]})
    assert answer["x"].tolist() == [b"a", b"b"] and echo.sizes == [4]


def test_a_batch_that_has_no_room_goes_at_once():
    echo = Echo()
    with Batched(echo, BatchingParameters(3, 60_000_000)) as model:
        texts = [[b"a", b"b"], [b"c", b"d"], [b"e"]]
        assert at_once(model, texts) == texts
    assert sorted(echo.sizes) in ([2, 3], [1, 2, 2])


def test_requests_that_no_batch_takes():
    with Batched(Echo(), BatchingParameters(2)) as model:
        for rows, message in (
            ([b"a"] * 3, "Task size 3 is larger than maximum input batch size 2"),
            (np.array(b"a", object), "at least one dimension"),
        ):
            with pytest.raises(ValueError, match=message):
                model.outputs("any", {"x": rows})
        assert model.outputs("any", {"x": []})["x"].tolist() == []
        with pytest.raises(ValueError, match="equal 0th-dimension"):
            both = Backend("both", lambda *_: {}, inputs=["x", "y"])
            with Batched(both, BatchingParameters(2)) as other:
                other.outputs("any", {"x": [b"a"], "y": [b"b", b"c"]})


def test_shapes_that_differ_spoil_a_batch():
    with Batched(Echo(), BatchingParameters(2, 60_000_000)) as model:
        answers = at_once(model, [[b"a"], np.array([[b"b"]], object)])
    assert all("have different shapes" in str(error) for error in answers)


def test_a_full_queue_is_unavailable():
    backend = Backend("slow", lambda _, columns: columns, ["slow"], inputs=["x"])
    asked = ("any", {"x": [b"a"]})
    with (
        Batched(backend, BatchingParameters(1, 0, max_enqueued_batches=1)) as model,
        futures.ThreadPoolExecutor(2) as threads,
    ):
        first = threads.submit(model.outputs, *asked)
        while not backend.asked:
            time.sleep(0.001)
        second = threads.submit(model.outputs, *asked)
        while not model.waiting:
            time.sleep(0.001)
        with pytest.raises(Unavailable, match="queue"):
            model.outputs(*asked)
        backend.release()
        assert first.result()["x"] == second.result()["x"] == [b"a"]
