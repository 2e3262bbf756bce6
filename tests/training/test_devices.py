"""Strategies and precision; two logical CPUs equal one device."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training import devices
from keras_attn.training.jax_devices import check_even
from keras_attn_pipelines.demo.scenes import write_scenes
from tests.processes import run_module

pytestmark = pytest.mark.systems


@pytest.mark.slow
def test_two_devices_equal_one(tmp_path):
    folder = write_scenes(tmp_path / "scenes", train=11, dev=5, test=2, novel=2)
    for name in ("one", "mirrored"):
        run_module("tests.training.mirrored", name, folder, tmp_path / name)
    with np.load(tmp_path / "one.npz") as single, np.load(tmp_path / "mirrored.npz") as mirrored:
        assert set(single.files) == set(mirrored.files)
        for key in single.files:
            np.testing.assert_allclose(single[key], mirrored[key], atol=2e-5, err_msg=key)
        assert np.abs(single["moved"]).max() > 1e-3


def test_tpu_with_a_fake_resolver(monkeypatch):
    with pytest.raises(ValueError, match="a TensorFlow that cannot drive a TPU"):
        devices.strategy_named("tpu")
    monkeypatch.setattr(devices, "check_tpu_package", lambda: None)
    calls = []
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", calls.append)
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", calls.append)
    monkeypatch.setattr(tf.distribute, "TPUStrategy", lambda cluster: ("strategy", cluster))
    assert devices.strategy_named("tpu", lambda: "cluster") == ("strategy", "cluster")
    assert calls == ["cluster", "cluster"]

    def nothing():
        raise ValueError("no TPU address")

    with pytest.raises(ValueError, match=r"Expected a TPU for strategy 'tpu'.*no TPU address"):
        devices.strategy_named("tpu", nothing)

    def broken(cluster):
        raise tf.errors.InternalError(None, None, "RET_CHECK failure\nof a node")

    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", broken)
    with pytest.raises(ValueError, match=r"'tpu'\. Received: RET_CHECK failure of a node$"):
        devices.strategy_named("tpu", lambda: "cluster")


@pytest.mark.parametrize(
    ("environment", "tpu"),
    [
        ({}, "local"),
        ({"TPU_NAME": "local"}, "local"),
        ({"TPU_NAME": "mine"}, None),
        ({"COLAB_TPU_ADDR": "10.0.0.2:8470"}, None),
    ],
)
def test_the_tpu_of_this_machine_unless_the_environment_names_one(environment, tpu, monkeypatch):
    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", lambda tpu: tpu)
    assert devices._tpu_resolver(environment) == tpu


def test_names():
    for name in ("one", "auto"):
        assert devices.strategy_named(name).num_replicas_in_sync == 1
    with pytest.raises(ValueError, match="Received: 'two'"):
        devices.strategy_named("two")
    with pytest.raises(ValueError, match="Received: 'half'"):
        devices.precision_policy("half")


def tf_config(*addresses):
    """The environment variable of the last worker."""
    task = {"type": "worker", "index": len(addresses) - 1}
    return json.dumps({"cluster": {"worker": addresses}, "task": task})


@pytest.mark.parametrize(
    ("environment", "gpus", "expected"),
    [
        ({}, 0, "one"),
        ({}, 1, "one"),
        ({}, 2, "mirrored"),
        ({"TPU_NAME": "local"}, 0, "tpu"),
        ({"COLAB_TPU_ADDR": "10.0.0.2:8470"}, 2, "tpu"),
        ({"TPU_NAME": ""}, 3, "mirrored"),
        ({"TF_CONFIG": tf_config("a:2", "b:3")}, 2, "multiworker"),
        ({"TF_CONFIG": tf_config("a:2")}, 2, "mirrored"),
    ],
)
def test_auto_takes_the_strategy_of_the_machine(environment, gpus, expected, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind] * gpus)
    assert devices.strategy_for("auto", environment) == expected
    for name in devices.STRATEGIES:
        assert devices.strategy_for(name, environment) == name


def test_precision(monkeypatch, tmp_path):
    assert devices.precision_policy("float32") == "float32"
    assert devices.precision_policy("bfloat16") == "mixed_bfloat16"
    assert devices.precision_policy("auto", "tpu") == "mixed_bfloat16"
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    for flags, fast in (("avx2 amx_bf16", True), ("avx2 fma", False)):
        (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
        assert devices._fast_bfloat16(tmp_path / "cpuinfo") is fast
    assert devices._fast_bfloat16(tmp_path / "none") is False


def test_batches_that_devices_of_jax_cannot_share_are_refused():
    rows = {"a": tf.TensorSpec((6, 5)), "b": tf.TensorSpec(()), "c": tf.TensorSpec((None, 7))}
    for count in (1, 2, 3):
        check_even((rows, rows["c"]), count)
    with pytest.raises(ValueError, match=r"multiple of 4 rows.*Received: 6 rows"):
        check_even((rows, rows["c"]), 4)
