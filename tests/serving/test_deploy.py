"""The files in deploy/ parse, agree with each other and with the model that they serve.

No TF Serving binary reads them here. models.config is parsed by TF Serving's own protocol buffer;
the messages of the other two are not in its Python package, but described by the stand-in.
"""

import inspect
from pathlib import Path

import pytest
import yaml
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow_serving.config import model_server_config_pb2

from keras_attn.saved.session import session_config
from keras_attn.serving.client import GrpcClient, RestClient
from keras_attn.serving.warm_up import WARM_UP_BATCHES
from tests.serving.stand_in.serving_messages import (
    parsed,
    read_batching_parameters,
    read_session_config,
)

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FLAGS = {
    "model_config_file",
    "model_config_file_poll_wait_seconds",
    "monitoring_config_file",
    "enable_batching",
    "batching_parameters_file",
    "rest_api_timeout_in_ms",
    "tensorflow_session_config_file",
}
"""Flags of tensorflow_model_server that are used; its main.cc has them all."""


def models_in(name):
    text = (DEPLOY / name).read_text(encoding="utf-8")
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    return config.model_config_list.config


@pytest.fixture(scope="module")
def models():
    return models_in("models.config")


def test_a_rollover_serves_the_versions_that_it_labels(models):
    (model,), (served,) = models_in("rollover.config"), models
    assert (model.name, model.base_path) == (served.name, served.base_path)
    assert sorted(model.version_labels.values()) == list(
        model.model_version_policy.specific.versions
    )


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kubernetes():
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))


def flags(arguments):
    return dict(argument.removeprefix("--").split("=") for argument in arguments)


def test_models_are_folders_with_versions(models):
    assert [model.name for model in models] == ["flickr8k_captioner"]
    for model in models:
        folder = ROOT / "saved_models" / Path(model.base_path).name
        assert model.base_path == f"/models/{model.name}" and model.model_platform == "tensorflow"
        assert (folder / "1" / "saved_model.pb").is_file()
        assert model.model_version_policy.latest.num_versions == 1


def test_batches_are_those_that_a_model_is_warm_for():
    batching = read_batching_parameters(DEPLOY / "batching_parameters.txt")
    sizes = batching.allowed_batch_sizes
    assert list(sizes) == sorted(sizes) and sizes[-1] == batching.max_batch_size
    assert max(WARM_UP_BATCHES) == sizes[-1] and min(WARM_UP_BATCHES) == sizes[0]
    assert batching.num_batch_threads >= 1 and batching.max_enqueued_batches >= 1


def test_sessions_are_those_of_loaded_models():
    config = read_session_config(DEPLOY / "session.config")
    assert config.graph_options == ConfigProto.FromString(session_config()).graph_options
    assert config.graph_options.rewrite_options.disable_meta_optimizer


def test_clients_send_no_more_rows_than_the_server_takes():
    most = read_batching_parameters(DEPLOY / "batching_parameters.txt").max_batch_size
    for client in (GrpcClient, RestClient):
        assert inspect.signature(client.ask).parameters["batch"].default <= most


def test_every_input_of_the_served_signatures_is_a_batch_of_rows(models):
    """TF Serving concatenates along the first axis, which alone may differ."""
    for model in models:
        path = ROOT / "saved_models" / model.name / "1" / "saved_model.pb"
        proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        served = proto.meta_graphs[0].signature_def
        own = {name: info for name, info in served.items() if not name.startswith("__")}
        assert {"serving_default", "explain", "score"} <= set(own)
        for signature in own.values():
            for tensor in [*signature.inputs.values(), *signature.outputs.values()]:
                assert tensor.tensor_shape.dim[0].size == -1
            for tensor in signature.inputs.values():
                assert len(tensor.tensor_shape.dim) == 1


def test_metrics(kubernetes):
    monitoring = parsed(DEPLOY / "monitoring.config", "MonitoringConfig").prometheus_config
    assert monitoring.enable
    annotations = kubernetes[0]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/path"] == monitoring.path


def test_a_field_that_there_is_not_is_an_error(tmp_path):
    file = tmp_path / "batching_parameters.txt"
    file.write_text("max_batch { value: 8 }")
    with pytest.raises(text_format.ParseError, match="max_batch"):
        read_batching_parameters(file)
    file.write_text("pad_variable_length_inputs: true")
    with pytest.raises(ValueError, match="pad_variable_length_inputs: false"):
        read_batching_parameters(file)


def test_compose_starts_the_server_with_these_files(compose, models):
    (service,) = compose["services"].values()
    given = flags(service["command"])
    assert set(given) == FLAGS
    mounts = dict(volume.removesuffix(":ro").split(":") for volume in service["volumes"])
    assert mounts == {"../saved_models": "/models", ".": "/config"}
    files = [value for name, value in given.items() if name.endswith("_file")]
    assert len(files) == 4 and all((DEPLOY / Path(file).name).is_file() for file in files)
    assert {Path(file).parent.as_posix() for file in files} == {"/config"}
    check = service["healthcheck"]["test"]
    assert check[0] == "CMD" and f"/v1/models/{models[0].name} " in check[-1]
    assert f"image: {service['image']}" in (DEPLOY / "kubernetes.yaml").read_text()


def test_kubernetes_starts_the_same_server(compose, kubernetes, models):
    deployment, service = kubernetes
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (composed,) = compose["services"].values()
    assert container["args"] == composed["command"] and container["image"] == composed["image"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts == {"models": "/models", "config": "/config"}
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": 8500, "rest": 8501}
    assert container["readinessProbe"]["httpGet"]["path"] == f"/v1/models/{models[0].name}"
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"] == labels
    assert {port["targetPort"] for port in service["spec"]["ports"]} == set(ports)
    (config,) = (
        volume["configMap"]["name"]
        for volume in deployment["spec"]["template"]["spec"]["volumes"]
        if "configMap" in volume
    )
    made = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    (generated,) = made["configMapGenerator"]
    assert generated["name"] == config and made["resources"] == ["kubernetes.yaml"]
    files = {
        Path(value).name for key, value in flags(container["args"]).items() if key.endswith("_file")
    }
    assert set(generated["files"]) == files


def test_the_documentation_names_the_same_image(compose):
    text = (ROOT / "docs" / "tutorials" / "serving.md").read_text(encoding="utf-8")
    (service,) = compose["services"].values()
    assert service["image"] in text
