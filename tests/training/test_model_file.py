"""`.keras` files of others: safe ones load, those with code in them are refused unrun."""

import io
import json
import re
import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras.src.backend.common import global_state  # What was enabled has no public undo.

from keras_attn import untrusted
from keras_attn.training.averaging import average_models
from keras_attn.training.model_file import read_model_file

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def path(tmp_path):
    """A `.keras` file of a small model."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
    model.save(tmp_path / "model.keras")
    return tmp_path / "model.keras"


def rewritten(path, change=lambda config: None, added=()):
    """Replaces config.json's content, and adds members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config)
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [*members.items(), *added]:
            archive.writestr(name, content)
    return path


def set_layer(**values):
    """A change of a config: other values of its Dense layer."""
    return lambda config: config["config"]["layers"][1].update(values)


def write_lambda(path, trace):
    """A model with a Lambda layer that makes a file when it is run."""
    name = str(trace)
    layer = keras.layers.Lambda(lambda x: (open(name, "w").close(), x)[1], output_shape=(3,))
    keras.Sequential([keras.Input((3,)), layer]).save(path)
    trace.unlink(missing_ok=True)


def refused(path, message):
    for read in (read_model_file, lambda own: average_models([own, own], own.with_name("m.keras"))):
        with pytest.raises(ValueError, match=re.escape(f"a Keras model at {path}. ") + message):
            read(path)


def test_a_model_without_code_loads(path):
    assert read_model_file(path).get_weights()[0].shape == (3, 5)


def test_lambdas_are_refused_even_where_keras_was_told_to_allow_them(tmp_path):
    path, trace = tmp_path / "model.keras", tmp_path / "trace"
    write_lambda(path, trace)
    refused(path, "Received: one with a Lambda, whose code would be run")
    keras.config.enable_unsafe_deserialization()
    try:
        refused(path, "Received: one with a Lambda, whose code would be run")
    finally:
        global_state.set_global_attribute("safe_mode_saving", None)
    assert not trace.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"module": "os", "class_name": "system", "registered_name": None, "config": {}},
        {"module": "subprocess", "class_name": "Popen", "registered_name": "Popen", "config": {}},
        {"module": "keras.utils", "class_name": "get_file", "registered_name": None, "config": {}},
        {"module": "builtins", "class_name": "function", "config": "eval"},
    ],
)
def test_functions_and_classes_of_elsewhere_are_refused(path, values):
    refused(rewritten(path, set_layer(**values)), "Received: a damaged file: ")


def test_a_function_in_place_of_an_activation_is_refused(path):
    def change(config):
        code = {"class_name": "__lambda__", "config": {"value": "YQ=="}}
        config["config"]["layers"][1]["config"]["activation"] = code

    refused(rewritten(path, change), "Received: one with a __lambda__, whose code would be run")


@pytest.mark.parametrize("name", ["../outside", "/outside", "assets/../../outside", "link"])
def test_members_that_lead_out_of_the_archive_are_refused(path, name):
    member = zipfile.ZipInfo(name)
    member.external_attr = (0o120777 if name == "link" else 0o100644) << 16
    refused(rewritten(path, added=[(member, "/etc/passwd")]), f"Received: .*{re.escape(name)}")


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_other_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"model.{suffix}"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(7))
    refused(path, "Received: a damaged file")
    content = io.BytesIO()
    np.savez(content, x=np.zeros(3))
    path.write_bytes(content.getvalue())
    refused(path, "Received: a damaged file: no config.json")


def test_a_config_of_more_numbers_than_the_arrays_is_refused_before_memory_is_taken(path):
    config = rewritten(path, lambda config: set_units(config, 10**12))
    refused(config, r"Received: a damaged file: a config with \d{13} weights, but arrays with 20")
    with keras.StatelessScope():  # Takes the memory of what waits for it.
        pass


def set_units(config, units):
    config["config"]["layers"][1]["config"]["units"] = units


@pytest.mark.parametrize("shape", [(10**12,), (1 << 16, 1 << 16)])
def test_arrays_that_declare_more_than_there_is_are_refused(path, shape):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("layers/dense/vars/0", shape, "float32", chunks=True)
    with zipfile.ZipFile(path) as archive:
        config = archive.read("config.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config)
        archive.writestr("model.weights.h5", content.getvalue())
    refused(path, r"Received: a damaged file: model.weights.h5 of \d+ bytes that declares arrays")


def test_a_member_that_unpacks_to_almost_everything_is_refused(path, monkeypatch):
    monkeypatch.setattr(untrusted, "_FLOOR", 1000)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("assets/zeros", bytes(1 << 20))
    refused(path, "Received: a damaged file: assets/zeros, which unpacks from ")


def test_a_layer_of_the_users_with_a_variable_of_its_own_loads(path):
    @keras.saving.register_keras_serializable("mine")
    class Scaled(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.scale = keras.Variable(2.0)

        def call(self, x):
            return x * self.scale

    try:
        keras.Sequential([keras.Input((3,)), Scaled()]).save(path)
        assert float(read_model_file(path).variables[0]) == 2.0
    finally:
        keras.saving.get_custom_objects().pop("mine>Scaled")
