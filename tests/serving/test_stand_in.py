"""The stand-in for TF Serving: its answers, deadlines and every kind of error."""

from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import ERROR, SOURCE, TEXT
from keras_attn.saved.c_session import CError
from keras_attn.serving.client import GrpcClient, RestClient
from tests.serving.servers import Backend

grpc = pytest.importorskip("grpc", reason="needs the extra client")
predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi", reason="needs the extra serve")

from tensorflow_serving.apis import prediction_service_pb2_grpc  # noqa: E402  (needs grpc)

from keras_attn_pipelines.saved.rest import rest_application  # noqa: E402  (needs fastapi)
from tests.serving.stand_in.batching import Batched, BatchingParameters  # noqa: E402
from tests.serving.stand_in.servers import grpc_server, rest_server, running  # noqa: E402

pytestmark = pytest.mark.systems

SOURCES = [b"one two three", b"", "five ☂".encode(), b"\xff one", b"seven"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


@pytest.fixture(scope="module")
def served(c_translator):
    """Addresses of the C model, batched, over gRPC and REST."""
    with (
        Batched(c_translator, BatchingParameters(8, 20_000, 64, 2, (1, 2, 4, 8))) as model,
        grpc_server(model, "tiny") as address,
        rest_server(model, "tiny") as url,
    ):
        yield address, url


def test_clients_get_the_models_answers_in_shared_batches(served, translator_in_python):
    expected = [translator_in_python.ask("explain", source=[source])[0] for source in SOURCES]
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
