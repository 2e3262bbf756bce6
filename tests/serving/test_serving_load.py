"""The load test of the benchmarks, with clients that are functions, and its server."""

import threading
import time
from pathlib import Path

import pytest

import keras_attn
from keras_attn.contracts import TEXT

pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason="needs the extra client")
pytest.importorskip("fastapi", reason="needs the extra serve")

from benchmarks import serving_load

pytestmark = pytest.mark.systems

PARAMETERS = Path(__file__).resolve().parents[2] / "deploy" / "batching_parameters.txt"
SOURCES = [b"one two three", b"", b"seven"]


def test_a_load_is_measured():
    served, lock, together = [], threading.Lock(), threading.Barrier(3, timeout=60)

    def client(number):
        if number < 3:  # However busy the machine is, each of the three asks.
            together.wait()
        with lock:
            served.append(number)
        time.sleep(0.01)
        if number % 3 == 2:
            raise ValueError("refused")

    load = serving_load.measured([client] * 3, seconds=1.0)
    assert load.refused and len(load.latencies) and set(served) >= {0, 1, 2}
    assert load.row("name")[0] == "name" and float(load.row("name")[1]) > 0


@pytest.mark.slow
def test_a_server_in_a_process_of_its_own(tiny_text_export, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving_load.server(tiny_text_export, "--batching", str(PARAMETERS)) as address:
        client = serving_load.GrpcClient(address, serving_load.MODEL, deadline=60.0)
        answers = client.ask("serving_default", source=SOURCES)
        client.close()
    expected = keras_attn.load(tiny_text_export).ask("serving_default", source=SOURCES)
    assert [row[TEXT].tolist() for row in answers] == [row[TEXT].tolist() for row in expected]
