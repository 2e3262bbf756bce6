"""The clients against servers in this process: the SavedModel's answers, and every kind of no."""

import contextlib
import gzip
import itertools
import json
import re
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, SCORE, TEXT
from keras_attn.saved.loading import load
from keras_attn.serving.client import GrpcClient, RestClient
from tests.serving.servers import Backend, grpc_server, raw_server, rest_server
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
    return load(tiny_export)


def test_answers_as_the_saved_model_does(kind, saved):
    with client_of(kind, Backend("tiny", saved.outputs), deadline=120.0) as asked:
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


def test_too_slow(kind, waits):
    backend = Backend("tiny", canned, ["slow"] * 9)
    with (
        client_of(kind, backend, retries=1, deadline=0.3) as asked,
        pytest.raises(TimeoutError, match=r"within 0.3 s \(1 attempt\). Received"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert not waits


def test_the_deadline_is_of_the_whole_call(kind):
    """Retries and later batches have what is left of it."""
    for troubles, images in ((["unavailable"] * 99, 1), (["none", "slow"], 2)):
        backend, begin = Backend("tiny", canned, troubles), time.monotonic()
        with (
            client_of(kind, backend, retries=99, backoff=0.1, deadline=1.0) as asked,
            pytest.raises((TimeoutError, ConnectionError), match=r"within 1\.0 s"),
        ):
            asked.ask("serving_default", image=[b"x"] * images, batch=1)
        assert time.monotonic() - begin < 10 and 2 <= backend.asked < 9


def test_no_such_model(kind, waits):
    backend = Backend("tiny", canned)
    with (
        client_of(kind, backend, model="other", deadline=60.0) as asked,
        pytest.raises(ValueError, match=r"Expected model 'other' at .*127.0.0.1:\d+\. Rec"),
    ):
        asked.ask("serving_default", image=[b"x"])
    assert backend.asked == 0 and not waits


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


def answering(content, status="200 OK"):
    """A whole HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    return head.encode() + content


def asked_of(content, rows=("x",), **options):
    """What a client says of a server that answers with some bytes."""
    options = {"retries": 0, "deadline": 60.0, **options}
    with raw_server(lambda connection: connection.sendall(content)) as url:
        return RestClient(url, "tiny", **options).ask("any", source=list(rows))


@pytest.mark.parametrize(
    "content",
    [
        b"<html>hello</html>",
        b"[]",
        b"{}",
        b"\xff",
        b'{"outputs": {"a": {"b": 1}}}',
        b'{"outputs": {"a": [[1], [2, 3]]}}',
        b'{"outputs": {"a": ["x", 1]}}',
        b'{"outputs": {"a": [{"b64": "?"}]}}',
        b'{"outputs": {"a": [{"b64": 7}]}}',
        b'{"outputs": {"a": [1' + b"0" * 400 + b"]}}",
        b'{"outputs": ' + b"[" * 200_000,
    ],
    ids=range(11),
)
def test_another_kind_of_server(content):
    with pytest.raises(ValueError, match="an answer that TF Serving would not give"):
        asked_of(answering(content))


def test_answers_without_outputs():
    with pytest.raises(ValueError, match=r"Expected outputs one or more\. Received: \[\]"):
        asked_of(answering(b'{"outputs": {}}'))


def drip(connection, *parts, pause=0.05):
    """Sends the last part again and again, a byte at a time, until the client hangs up."""
    for part in parts[:-1]:
        connection.sendall(part)
    connection.settimeout(pause)
    for place in itertools.count():
        connection.sendall(parts[-1][place % max(1, len(parts[-1])) :][:1])
        with contextlib.suppress(TimeoutError):
            if not connection.recv(1):
                return


@pytest.mark.parametrize(
    "parts",
    [
        (b"HTTP/1.1 2", b"0"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"HTTP/1.1 100 Continue\r\n\r\n",),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 99999\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", b"x"),
        (b"",),
    ],
    ids=["status line", "headers", "continue", "error's body", "body", "nothing"],
)
def test_a_dripping_server_holds_nobody_beyond_the_deadline(parts):
    begin = time.monotonic()
    with raw_server(lambda connection: drip(connection, *parts)) as url:
        asked = RestClient(url, "tiny", retries=3, deadline=0.7)
        with pytest.raises((TimeoutError, ConnectionError, ValueError), match="Received: "):
            asked.ask("any", source=["x"])
    assert time.monotonic() - begin < 10


def test_a_connection_that_breaks():
    for content in (
        b"",
        b"HTTP/1.1 ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
        b"\0" * 99,
    ):
        with pytest.raises((ConnectionError, ValueError), match="Received: "):
            asked_of(content)


def test_no_more_is_read_than_wanted():
    words = answering(b"word " * 200_000, "500 Oh")
    with pytest.raises(ValueError, match="HTTP 500: word") as told:
        asked_of(words)
    assert len(str(told.value)) < 1200
    many = json.dumps({"outputs": ["word" * 999]}).encode()
    with pytest.raises(ValueError, match="an answer of more than max_answer_bytes=999"):
        asked_of(answering(many), max_answer_bytes=999)
    assert asked_of(answering(many)) == [{"outputs": b"word" * 999}]
    packed = b"Content-Encoding: gzip\r\nConnection"
    with pytest.raises(ValueError, match="an answer that TF Serving would not give"):
        asked_of(answering(gzip.compress(many)).replace(b"Connection", packed))
    with pytest.raises(ValueError, match="HTTP 302"):
        asked_of(answering(b"", "302 Found\r\nLocation: http://localhost:1/"))


def test_odd_tensors_over_grpc(monkeypatch):
    pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    real = tf.make_tensor_proto
    huge = tf.make_tensor_proto([1.0])
    huge.tensor_shape.dim[0].size = 2**40
    negative, kindless = tf.make_tensor_proto([1.0]), tf.make_tensor_proto([1.0])
    negative.tensor_shape.dim[0].size, kindless.dtype = -5, 99
    few = tf.make_tensor_proto([1.0, 2.0])
    few.tensor_shape.dim[0].size, few.tensor_content = 7, b"abc"
    for proto in (huge, negative, kindless, few):
        answers = lambda value, *kind, proto=proto: real(value, *kind) if kind else proto  # noqa: E731
        monkeypatch.setattr(tf, "make_tensor_proto", answers)
        with (
            client_of("grpc", Backend("tiny", canned), deadline=60.0) as asked,
            pytest.raises(ValueError, match="an answer that TF Serving would not give"),
        ):
            asked.ask("serving_default", image=[b"x"])
    monkeypatch.undo()
    backend = Backend("tiny", lambda *_: {"text": np.full((1,), b"x" * 9999, object)})
    with (
        client_of("grpc", backend, deadline=60.0, max_answer_bytes=999) as asked,
        pytest.raises(ValueError, match="RESOURCE_EXHAUSTED"),
    ):
        asked.ask("serving_default", image=[b"x"])


def test_rest_gives_every_kind_of_array():
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
    (answer,) = asked_of(answering(content))
    assert answer["ids"].dtype == np.int32 and answer["ids"].tolist() == [1, -2]
    assert answer["large"] == 2**40 and answer["flags"].dtype == bool
    assert answer["shares"].dtype == np.float32 and np.isnan(answer["shares"][1])
    assert answer["name"] == "☂\0".encode() and answer["hash_bytes"] == b"\xff\0"


def test_rest_names_the_only_output():
    answers = asked_of(answering(b'{"outputs": [1.5, 2.5]}'), "xy")
    assert answers == [{"outputs": 1.5}, {"outputs": 2.5}]


def test_an_answer_of_another_length():
    for output in ("1.5", "[1.5]", "[]"):
        content = f'{{"outputs": {{"score": {output}}}}}'.encode()
        with pytest.raises(ValueError, match=r"Expected 2 rows of score\. Received: "):
            asked_of(answering(content), "xy")


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deadline": 0}, "a finite deadline > 0. Received: deadline=0"),
        ({"deadline": float("nan")}, "a finite deadline > 0. Received: deadline=nan"),
        ({"deadline": float("inf")}, "a finite deadline > 0. Received: deadline=inf"),
        ({"deadline": "1"}, "a finite deadline > 0. Received: deadline='1'"),
        ({"retries": -1}, "an int retries >= 0. Received: retries=-1"),
        ({"retries": 1.5}, "an int retries >= 0. Received: retries=1.5"),
        ({"backoff": -0.1}, "a finite backoff >= 0. Received: backoff=-0.1"),
        ({"max_answer_bytes": 0}, "an int max_answer_bytes >= 1. Received: max_answer_bytes=0"),
    ],
)
def test_bad_choices(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RestClient("http://localhost:8501", "tiny", **options)


def test_no_url():
    for url in ("localhost:8501", "ftp://localhost", ""):
        with pytest.raises(ValueError, match="Expected an http URL"):
            RestClient(url, "tiny").ask("any", source=["x"])


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    for kind in KINDS:
        with pytest.raises(ImportError, match=r"pip install 'keras-attn\[client\]'"):
            client(kind, "http://localhost:8500")
