"""The stand-in for TF Serving: its answers, deadlines and every kind of error."""

from concurrent import futures
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import keras_attn
from keras_attn.contracts import ERROR, SOURCE, TARGET, TEXT
from keras_attn.serving.client import GrpcClient, RestClient
from tests.serving.servers import Backend
from tests.serving.tiny_service import picture

grpc = pytest.importorskip("grpc", reason="needs the extra client")
predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="needs the extra serve")

from tensorflow_serving.apis import prediction_service_pb2_grpc  # noqa: E402  (needs grpc)

from benchmarks.malformed_requests import resident  # noqa: E402  (needs tensorflow_serving)
from benchmarks.stand_in.batching import Batched, BatchingParameters  # noqa: E402
from benchmarks.stand_in.c_model import CModel  # noqa: E402
from benchmarks.stand_in.c_session import CError, CSession  # noqa: E402
from benchmarks.stand_in.servers import grpc_server, rest_server, running  # noqa: E402
from keras_attn_pipelines.saved.rest import rest_application  # noqa: E402  (needs fastapi)

pytestmark = pytest.mark.systems

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [b"one two three", b"", "five ☂".encode(), b"\xff one", b"seven"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def translator(tiny_text_export):
    model = CModel(tiny_text_export)
    yield model
    model.close()


@pytest.fixture(scope="module")
def in_python(tiny_text_export):
    return keras_attn.load(tiny_text_export)


def same(outputs, expected):
    assert sorted(outputs) == sorted(expected)
    for key, value in expected.items():
        assert outputs[key].shape == value.shape and outputs[key].dtype == value.dtype, key
        if value.dtype == np.float32:
            np.testing.assert_allclose(outputs[key], value, atol=1e-4, err_msg=key)
        else:
            np.testing.assert_array_equal(outputs[key], value, err_msg=key)


def test_the_bundled_captioner_answers_as_in_python():
    pictures = [picture(1, (64, 48), "JPEG"), b"no picture", picture(2, (48, 64))]
    folder = ROOT / "saved_models" / "flickr8k_captioner"
    expected = keras_attn.load(folder).outputs("serving_default", {"image": pictures})
    model = CModel(folder)
    same(model.outputs("serving_default", {"image": pictures}), expected)
    model.close()
    assert [bool(reason) for reason in expected[ERROR]] == [False, True, False]


@pytest.mark.parametrize("signature", ["serving_default", "explain", "score"])
def test_a_text_model_answers_as_in_python(translator, in_python, signature):
    columns = {SOURCE: SOURCES}
    if signature == "score":
        columns[TARGET] = [b"eins", b"eins", b"zwei", b"eins", b"zwei " * 30]
    same(translator.outputs(signature, columns), in_python.outputs(signature, columns))
    assert translator.inputs_of(signature) == in_python.inputs_of(signature)


def test_both_models_describe_themselves_alike(translator, in_python):
    assert translator.version == in_python.version == "1"
    shapes, others = (
        model.signature_shapes()["signature_def"] for model in (translator, in_python)
    )
    assert sorted(shapes) == sorted(others)
    for name, signature in others.items():
        for side in ("inputs", "outputs"):
            assert sorted(signature[side]) == sorted(shapes[name][side])
            for key, info in signature[side].items():
                other = shapes[name][side][key]
                assert info["dtype"] == other["dtype"]
                assert info["tensor_shape"] == other["tensor_shape"]


STRINGS = np.array([b"one"], object)


@pytest.mark.parametrize(
    ("signature", "columns"),
    [
        ("none", {SOURCE: STRINGS}),
        ("serving_default", {}),
        ("serving_default", {"image": STRINGS}),
        ("serving_default", {SOURCE: STRINGS, "image": STRINGS}),
        ("serving_default", {SOURCE: np.zeros(1, "float32")}),
        ("serving_default", {SOURCE: np.zeros(1, "datetime64[s]")}),
        ("serving_default", {SOURCE: np.array([None])}),
        ("serving_default", {SOURCE: STRINGS[None]}),
        ("serving_default", {SOURCE: STRINGS[0:1].reshape(())}),
        ("score", {SOURCE: STRINGS, TARGET: np.array([b"a", b"b"], object)}),
    ],
)
def test_requests_that_are_refused(translator, in_python, signature, columns):
    for model in (translator, in_python):
        with pytest.raises(ValueError, match=r"."):
            model.outputs(signature, columns)


def test_an_empty_batch(translator, in_python):
    for rows in ([], np.zeros(0, object)):
        for model in (translator, in_python):
            assert model.outputs("serving_default", {SOURCE: rows})[TEXT].shape[0] == 0


def test_no_saved_model_and_no_library(tmp_path):
    with pytest.raises(CError, match="SavedModel"):
        CSession(tmp_path)
    with pytest.raises(CError, match=r"none\.so"):
        CSession(tmp_path, [tmp_path / "none.so"])


@pytest.fixture(scope="module")
def served(translator):
    """Addresses of the C model, batched, over gRPC and REST."""
    with (
        Batched(translator, BatchingParameters(8, 20_000, 64, 2, (1, 2, 4, 8))) as model,
        grpc_server(model, "tiny") as address,
        rest_server(model, "tiny") as url,
    ):
        yield address, url


def test_clients_get_the_models_answers_in_shared_batches(served, in_python):
    expected = [in_python.ask("explain", source=[source])[0] for source in SOURCES]
    grpc_client = GrpcClient(served[0], "tiny", deadline=60.0)
    rest_client = RestClient(served[1], "tiny", deadline=60.0)
    jobs = [(client, place) for client in (grpc_client, rest_client) for place in range(5)]
    with futures.ThreadPoolExecutor(10) as threads:
        answers = threads.map(lambda job: job[0].ask("explain", source=[SOURCES[job[1]]])[0], jobs)
    for (client, place), answer in zip(jobs, answers):
        assert answer[TEXT].tolist() == expected[place][TEXT].tolist(), (client, place)
        assert answer[ERROR] == expected[place][ERROR]
        np.testing.assert_allclose(answer["score"], expected[place]["score"], atol=1e-4)
    with pytest.raises(ValueError, match="Task size 9 is larger than maximum input batch size 8"):
        grpc_client.ask("serving_default", source=[b"one"] * 9, batch=9)
    grpc_client.close()


def predicted(address, inputs, model="tiny", signature="", version=None, outputs=(), seconds=60):
    """Status code of a request over gRPC; or its response."""
    request = predict_pb2.PredictRequest(output_filter=outputs)
    request.model_spec.name, request.model_spec.signature_name = model, signature
    if version is not None:
        request.model_spec.version.value = version
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(value)
    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        try:
            return stub.Predict(request, timeout=seconds)
        except grpc.RpcError as error:
            return error.code()


def test_status_codes_over_grpc(served):
    address, text = served[0], {SOURCE: tf.make_tensor_proto([b"one"])}
    huge = tf.make_tensor_proto([b"one"])
    huge.tensor_shape.dim[0].size = 1 << 40
    not_found, invalid = grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT
    assert predicted(address, text, model="other") is not_found
    assert predicted(address, text, version=2) is not_found
    assert predicted(address, text, signature="none") is invalid
    assert predicted(address, text, outputs=["none"]) is invalid
    assert predicted(address, {}) is invalid
    assert predicted(address, {SOURCE: huge}) is invalid
    assert predicted(address, {SOURCE: tf.make_tensor_proto([1.0])}) is invalid
    response = predicted(address, text, version=1, outputs=["text"])
    assert list(response.outputs) == ["text"] and response.model_spec.version.value == 1
    assert response.model_spec.signature_name == "serving_default"


@pytest.mark.parametrize(
    ("trouble", "code", "status"),
    [
        ("refused", grpc.StatusCode.INVALID_ARGUMENT, 400),
        ("unavailable", grpc.StatusCode.UNAVAILABLE, 503),
        ("slow", grpc.StatusCode.DEADLINE_EXCEEDED, 504),
    ],
)
def test_the_same_trouble_over_grpc_and_rest(trouble, code, status):
    backend = Backend("tiny", lambda _, columns: columns, [trouble] * 2)
    try:
        app = rest_application(backend, "tiny", seconds=0.1)
        with grpc_server(backend, "tiny") as address, running(app) as url:
            assert predicted(address, {}, seconds=0.3) is code
            body = {"inputs": {"image": ["a"]}}
            answer = httpx.post(f"{url}/v1/models/tiny:predict", json=body, trust_env=False)
            assert answer.status_code == status and answer.json()["error"]
            backend.release()
    finally:
        backend.release()


def test_an_error_of_the_model_is_internal():
    def broken(signature, columns):
        raise CError(13, "no memory")

    with grpc_server(Backend("tiny", broken), "tiny") as address:
        assert predicted(address, {}) is grpc.StatusCode.INTERNAL


def test_memory_is_flat(translator):
    """Requests of 0.6 MB leave nothing behind; all of them would leave 90 MB."""
    columns = {SOURCE: [b"one two", b"\xff" * 600_000]}
    for _ in range(10):
        translator.outputs("explain", columns)
    before = resident()
    for _ in range(150):
        translator.outputs("explain", columns)
    assert resident() - before < 40
