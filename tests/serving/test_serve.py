"""The development server: the page, TF Serving's REST interface, and every kind of no."""

import html
import json
import logging
import re
import socket
import time

import numpy as np
import pytest

import keras_attn
from keras_attn.serving.client import RestClient
from tests.serving.stand_in.servers import running
from tests.serving.tiny_service import picture
from tests.viz.test_explorer import EVIL, facts_in

pytest.importorskip("fastapi", reason="needs the extra serve")
testclient = pytest.importorskip("starlette.testclient", reason="needs httpx")

from keras_attn_pipelines.saved import serve  # noqa: E402  (needs fastapi)

MODEL = "/v1/models/tiny"


@pytest.fixture(scope="module")
def captioner(tiny_export):
    return keras_attn.load(tiny_export)


@pytest.fixture(scope="module")
def translator(tiny_text_export):
    return keras_attn.load(tiny_text_export)


def asking(saved, **options):
    app = serve.application(saved, "tiny", **options)
    return testclient.TestClient(app, base_url="http://localhost:8501")


@pytest.mark.systems
def test_the_projects_client_gets_the_models_answers(captioner, translator, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    pictures = [picture(1), b"no picture"]
    cases = [
        (captioner, "serving_default", {"image": pictures}),
        (captioner, "explain", {"image": pictures}),
        (translator, "score", {"source": ["one two", ""], "target": ["zwei", "☂"]}),
    ]
    for saved, signature, inputs in cases:
        with running(serve.application(saved, "tiny")) as address:
            answers = RestClient(address, "tiny", deadline=60.0).ask(signature, **inputs)
        for answer, expected in zip(answers, saved.ask(signature, **inputs), strict=True):
            assert sorted(answer) == sorted(expected)
            for key, value in expected.items():
                if np.asarray(value).dtype == np.float32:
                    np.testing.assert_allclose(answer[key], value, atol=1e-6)
                else:
                    np.testing.assert_array_equal(answer[key], value)


def test_rows_columns_status_and_metadata(translator):
    client = asking(translator)
    status = client.get(MODEL).json()["model_version_status"]
    assert status[0]["state"] == "AVAILABLE" and status[0]["version"] == "1"
    facts = client.get(f"{MODEL}/versions/1/metadata").json()
    assert facts["model_spec"] == {"name": "tiny", "signature_name": "", "version": "1"}
    signature = facts["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["source"]["dtype"] == "DT_STRING"
    assert signature["inputs"]["source"]["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]
    by_row = client.post(f"{MODEL}:predict", json={"instances": ["one", {"b64": "b25l"}]}).json()
    assert by_row["predictions"][0] == by_row["predictions"][1]
    columns = {"inputs": {"source": ["one"]}}
    by_column = client.post(f"{MODEL}/versions/1:predict", json=columns).json()["outputs"]
    assert by_column["text"][0] == by_row["predictions"][0]["text"]
    empty = client.post(f"{MODEL}:predict", json={"inputs": {"source": []}}).json()["outputs"]
    assert empty["text"] == [] and signature["outputs"]["score"]["dtype"] == "DT_FLOAT"


def test_the_page_shows_the_explorer(captioner, translator):
    photograph = asking(captioner).get("/example")
    assert photograph.headers["content-type"] == "image/jpeg"
    for saved, body in ((captioner, photograph.content), (translator, "one two ☂".encode())):
        client = asking(saved)
        page = client.get("/")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert f'data-kind="{"picture" if saved.takes_pictures else "text"} scored"' in page.text
        assert "<pre>card" in page.text and "@" not in re.sub(
            "<(style|script)>.*?</", "", page.text
        )
        answer = client.post("/explore", content=body)
        assert answer.status_code == 200, answer.text
        shown = facts_in(answer.text)
        assert shown["answers"] and shown["views"]


def test_the_page_shows_terms_and_card_as_text(translator, monkeypatch, tmp_path):
    (tmp_path / "README.md").write_text(f"# Card\n{EVIL}@script@")
    monkeypatch.setattr(translator, "folder", tmp_path)
    monkeypatch.setitem(translator.metadata, "terms", EVIL)
    page = asking(translator).get("/").text
    assert page.count(html.escape(EVIL)) == 2 and "@script@" in page
    assert page.count("<script>") == page.count("</script>") == 1 and "<b onmouseover" not in page


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        ("/v1/models/other:predict", b"{}", 404, "the model tiny, version 1: /v1/models/tiny"),
        (f"{MODEL}/versions/2:predict", b"{}", 404, "Received: /v1/models/tiny/versions/2:predict"),
        (f"{MODEL}:predict", b"{", 400, "Expected JSON"),
        (f"{MODEL}:predict", b"[" * 100_000, 400, "Expected JSON"),
        (f"{MODEL}:predict", b"[" * 600 + b"]" * 600, 400, "nested more than 100 levels deep"),
        (f"{MODEL}:predict", b'{"instances": ' + b"[" * 600 + b"]" * 600 + b"}", 400, "100 levels"),
        (f"{MODEL}:predict", b'{"instances": [' + b"9" * 5000 + b"]}", 400, "Expected JSON"),
        (f"{MODEL}:predict", b"{}", 400, "either instances or inputs"),
        (f"{MODEL}:predict", b'{"instances": []}', 400, "a list that is not empty"),
        (f"{MODEL}:predict", b'{"instances": [3]}', 400, "a string or an object with b64"),
        (f"{MODEL}:predict", b'{"instances": [{"b64": "?"}]}', 400, "a string or an object"),
        (f"{MODEL}:predict", b'{"instances": ["a", {"x": "b"}]}', 400, "same inputs in all"),
        (
            f"{MODEL}:predict",
            b'{"inputs": {"x": ["a"]}}',
            400,
            "Expected inputs ['source']. Received: ['x']",
        ),
        (f"{MODEL}:predict", b'{"instances": [{"y": "a"}]}', 400, "Received: ['y']"),
        ("/explore?by=luck", b"one", 400, "Expected by in ('attention', 'occlusion')"),
        (f"{MODEL}:predict", b'{"inputs": "a"}', 400, "Expected a list of strings"),
        (f"{MODEL}:predict", b'{"inputs": ["a"], "signature_name": 3}', 400, "a signature of"),
        ("/explore", b"\xff", 400, "Expected UTF-8"),
        ("/explore", b" ", 400, "an empty text"),
        ("/explore", b"x" * 2000, 413, "Expected at most 1000 bytes"),
    ],
)
def test_requests_that_are_refused(translator, path, body, code, message):
    answer = asking(translator, max_bytes=1000 if b"xx" in body else 1 << 20).post(
        path, content=body
    )
    assert answer.status_code == code and message in answer.json()["error"]


def test_other_sites_names_are_refused(translator):
    app = serve.application(translator, "tiny")
    client = testclient.TestClient(app, base_url="http://evil.example")
    assert client.get(MODEL).status_code == 400


def test_pages_of_other_sites_are_refused(translator):
    client, asked = asking(translator), {"instances": ["one"]}
    for origin, code in (
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[::1", 403),
        ("http://localhost:8501", 200),
    ):
        answer = client.post(f"{MODEL}:predict", json=asked, headers={"Origin": origin})
        assert answer.status_code == code, answer.text


@pytest.mark.parametrize("name", ["a b", "a/b", "{name}", "", "<b>"])
def test_names_that_cannot_stand_in_an_address(translator, name):
    with pytest.raises(ValueError, match="Expected a name of letters"):
        serve.application(translator, name)


def test_an_address_in_use(translator):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"Expected a free address. Received: 127.0.0.1:{port}"):
            serve.run(translator, "tiny", "127.0.0.1", port, 1000, 1.0)


def test_an_answer_that_takes_too_long(translator, monkeypatch):
    monkeypatch.setattr(translator, "outputs", lambda *asked: time.sleep(0.5))
    answer = asking(translator, seconds=0.05).post(f"{MODEL}:predict", json={"instances": ["x"]})
    assert answer.status_code == 504 and "within 0.05 s" in answer.json()["error"]


HEAD = b"POST /explore HTTP/1.1\r\nHost: localhost\r\n"


def connected(address):
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def received(address, sent):
    """What a server sends until it closes the connection."""
    with connected(address) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


WITH_BODY = HEAD + b"Content-Length: 9000000\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"POST /explore HT", HEAD, WITH_BODY, WITH_BODY + b"one"])
def test_a_request_that_does_not_arrive_in_time(translator, sent, caplog):
    with running(serve.application(translator, "tiny"), seconds=0.2, log_level="error") as address:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        assert received(address, sent).startswith(b"HTTP/1.1 408 Request Timeout\r\nConnection: cl")
    assert not caplog.records


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        (HEAD, b"X-One: one\r\n"),
        (WITH_BODY, b"one "),
        (WITH_BODY.replace(b"POST /explore", b"GET /"), b"one "),
    ],
)
def test_a_request_that_never_ends(translator, sent, drip):
    with (
        running(serve.application(translator, "tiny"), seconds=0.2) as address,
        connected(address) as connection,
        pytest.raises(ConnectionError),
    ):
        connection.sendall(sent)
        for _ in range(500):
            time.sleep(0.02)
            connection.sendall(drip)


@pytest.mark.parametrize("length", [b"1001", b"9" * 19, b"9" * 400])
def test_a_length_that_is_too_much_is_refused_before_the_body(translator, length):
    with running(serve.application(translator, "tiny", max_bytes=1000)) as address:
        answer = received(address, HEAD + b"Content-Length: " + length + b"\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 413", b"HTTP/1.1 400")) and b"onnection: close" in answer


@pytest.mark.parametrize("sent", [b"Content-Length: 9\r\n\r\none", b"Content-Length: 3\r\n\r\none"])
def test_a_client_that_hangs_up_is_no_error(translator, sent, caplog):
    with running(serve.application(translator, "tiny"), log_level="error") as address:
        logging.getLogger("uvicorn.error").addHandler(caplog.handler)
        with connected(address) as connection:
            connection.sendall(HEAD + sent)
        answers = RestClient(address, "tiny", deadline=60.0).ask("serving_default", source=["one"])
    assert len(answers) == 1 and not caplog.records


def test_nan_is_an_answer(translator, monkeypatch):
    monkeypatch.setattr(translator, "outputs", lambda *asked: {"x": np.array([np.nan], "float32")})
    answer = asking(translator).post(f"{MODEL}:predict", json={"instances": ["x"]})
    assert np.isnan(json.loads(answer.text)["predictions"][0])
