"""The clients against servers in this process: the SavedModel's answers, and every kind of no."""

import contextlib
import json
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, SCORE, TEXT
from keras_attn.serving.client import GrpcClient, RestClient
from keras_attn_pipelines.saved.predict import SavedCaptioner
from tests.serving.servers import Backend, grpc_server, rest_server
from tests.serving.tiny_service import PICTURES

KINDS = ["grpc", "rest"]
CAPTIONS = ["a red dog", "dogs ☂", "dogs", "a " * 20, ""]


@pytest.fixture(autouse=True)
def _no_proxy_and_no_waiting(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


@pytest.fixture
def waits(monkeypatch):
    """The client's waits, which are not waited."""
    actual = []
    monkeypatch.setattr("keras_attn.serving.client.time.sleep", actual.append)
    return actual


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param == "grpc":
        reason = "tensorflow-serving-api is not installed"
        pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason=reason)
    return request.param


@contextlib.contextmanager
def client_of(kind, backend, model="tiny", **options):
    server = grpc_server if kind == "grpc" else rest_server
    with (
        server(backend) as address,
        closing(client(kind, address, model, **options)) as each_client,
    ):
        yield each_client


@contextlib.contextmanager
def closing(value):
    yield value
    if isinstance(value, GrpcClient):
        value.close()


def client(kind, address, model="tiny", **options):
    return (GrpcClient if kind == "grpc" else RestClient)(address, model, **options)


def canned(signature, inputs):
    count = len(next(iter(inputs.values())))
    return {
        TEXT: np.array([[f"{signature} ☂".encode()]] * count, object),
        SCORE: np.full((count, 1), -1.5, "float32"),
        ERROR: np.array([b""] * count, object),
    }


@pytest.fixture(scope="module")
def saved(tiny_export):
    return SavedCaptioner(tiny_export)


def test_answers_as_the_saved_model_does(kind, saved):
    def answer(signature, inputs):
        tensors = {key: tf.constant(values) for key, values in inputs.items()}
        answers = saved._signatures[signature](**tensors)
        return {key: value.numpy() for key, value in answers.items()}

    with client_of(kind, Backend("tiny", answer), deadline=120.0) as asked:
        pairs = {"image": PICTURES, "caption": CAPTIONS}
        for signature, inputs in (
            ("serving_default", {"image": PICTURES, "batch": 2}),
            ("explain", {"image": PICTURES}),
            ("score", pairs),
        ):
            same(asked.ask(signature, **inputs), saved.ask(signature, **inputs))
        with pytest.raises(ValueError, match=r"equal length.*'image': 5, 'caption': 2"):
            asked.ask("score", image=PICTURES, caption=CAPTIONS[:2])


def same(actual, expected):
    assert len(actual) == len(expected) == len(PICTURES)
    for each_value, other in zip(actual, expected):
        assert sorted(each_value) == sorted(other)
        for key, value in other.items():
            assert type(each_value[key]) is type(value), key
            if isinstance(value, np.ndarray):
                assert each_value[key].dtype == value.dtype, key
            if np.asarray(value).dtype == np.float32:
                np.testing.assert_allclose(each_value[key], value, atol=1e-6, err_msg=key)
            else:
                np.testing.assert_array_equal(each_value[key], value, err_msg=key)


def test_fails_twice_then_answers(kind, waits):
    backend = Backend("tiny", canned, ["unavailable", "unavailable"])
    with client_of(kind, backend, retries=2, backoff=0.5, deadline=60.0) as asked:
        answer = asked.ask("serving_default", image=[b"x"])[0]
    assert answer[TEXT].tolist() == ["serving_default ☂".encode()] and answer[ERROR] == b""
    assert backend.asked == 3 and len(waits) == 2
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0


def test_gives_up(kind, waits):
    backend = Backend("tiny", canned, ["unavailable"] * 9)
    with (
        client_of(kind, backend, retries=2, deadline=60.0) as asked,
        pytest.raises(ConnectionError, match=r"Received: (UNAVAILABLE: no free|HTTP 503: )"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert backend.asked == 3 and len(waits) == 2


def test_slow_once_then_answers(kind, waits):
    backend = Backend("tiny", canned, ["slow"])
    with client_of(kind, backend, retries=1, deadline=2.0) as asked:
        assert asked.ask("explain", image=[b"x"])[0][TEXT].tolist() == ["explain ☂".encode()]
    assert backend.asked == 2 and len(waits) == 1


def test_too_slow(kind, waits):
    backend = Backend("tiny", canned, ["slow"] * 9)
    with (
        client_of(kind, backend, retries=1, deadline=0.3) as asked,
        pytest.raises(TimeoutError, match=r"within 0.3 s \(2 attempts\). Received"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert len(waits) == 1


def test_no_such_model(kind, waits):
    backend = Backend("tiny", canned)
    with (
        client_of(kind, backend, model="other", deadline=60.0) as asked,
        pytest.raises(ValueError, match=r"Expected model 'other' at .*127.0.0.1:\d+\. Rec"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert backend.asked == 1 and not waits


def test_refused(kind, waits):
    backend = Backend("tiny", canned, ["refused"])
    with (
        client_of(kind, backend, deadline=60.0) as asked,
        pytest.raises(ValueError, match=r"Expected a request that model 'tiny' at .* under"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert backend.asked == 1 and not waits


def test_nobody_there(kind, waits):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        address = address if kind == "grpc" else f"http://{address}"
        with (
            closing(client(kind, address, retries=1, deadline=20.0)) as asked,
            pytest.raises(ConnectionError, match=r"Expected an answer from .*127.0.0.1"),
        ):
            asked.ask("serving_default", image=[b"x"])
    assert len(waits) == 1


def test_another_kind_of_server(monkeypatch):
    for content in (b"<html>hello</html>", b"[]", b"{}"):
        monkeypatch.setattr(RestClient, "_read", lambda *_, content=content: content)
        asked = RestClient("http://localhost", "tiny", retries=0)
        with pytest.raises(ValueError, match="an answer that TF Serving would not give"):
            asked.ask("serving_default", image=[b"x"])


def test_rest_gives_every_kind_of_array(monkeypatch):
    """Numbers by how JSON writes them, NaN too; *_bytes in base 64."""
    outputs = {
        "ids": [[1, -2]],
        "large": [2**40],
        "shares": [[1.0, float("nan")]],
        "flags": [True],
        "name": ["☂\0"],
        "hash_bytes": [{"b64": "/wA="}],
    }
    content = json.dumps({"outputs": outputs}).encode()
    monkeypatch.setattr(RestClient, "_read", lambda *_: content)
    (answer,) = RestClient("http://localhost", "tiny").ask("any", source=["x"])
    assert answer["ids"].dtype == np.int32 and answer["ids"].tolist() == [1, -2]
    assert answer["large"] == 2**40 and answer["flags"].dtype == bool
    assert answer["shares"].dtype == np.float32 and np.isnan(answer["shares"][1])
    assert answer["name"] == "☂\0".encode() and answer["hash_bytes"] == b"\xff\0"


def test_rest_names_the_only_output(monkeypatch):
    monkeypatch.setattr(RestClient, "_read", lambda *_: b'{"outputs": [1.5, 2.5]}')
    answers = RestClient("http://localhost", "tiny").ask("any", source=["x", "y"])
    assert answers == [{"outputs": 1.5}, {"outputs": 2.5}]


def test_an_answer_of_another_length(monkeypatch):
    for output in ("1.5", "[1.5]", "[]"):
        content = f'{{"outputs": {{"score": {output}}}}}'.encode()
        monkeypatch.setattr(RestClient, "_read", lambda *_, content=content: content)
        with pytest.raises(ValueError, match=r"Expected 2 rows of score\. Received: "):
            RestClient("http://localhost", "tiny").ask("score", source=["x", "y"])


WITHOUT_KERAS = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "keras" else found(name, *rest)
import keras_attn.serving.client as one
one.RestClient("http://x", "y")
sys.exit(str([name for name in sys.modules if name in ("tensorflow", "keras")]))
"""


def test_rest_works_where_keras_is_not_installed():
    done = subprocess.run([sys.executable, "-c", WITHOUT_KERAS], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_bad_choices(monkeypatch):
    for options in ({"deadline": 0}, {"retries": -1}, {"backoff": -0.1}):
        with pytest.raises(ValueError, match="Expected deadline > 0, retries >= 0 and backoff"):
            RestClient("http://localhost:8501", "tiny", **options)
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-attn\[client\]'"):
        GrpcClient("localhost:8500", "tiny")
