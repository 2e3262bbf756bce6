"""Two workers with two devices each equal one device."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.devices import strategy_named
from keras_attn.training.workers import Workers
from tests import workers
from tests.training import multi_worker

pytestmark = pytest.mark.systems


@pytest.mark.slow
def test_two_workers_equal_one_device(tmp_path):
    outs = [tmp_path / f"{index}.npz" for index in range(2)]
    given = [("multiworker", out) for out in outs]
    workers.run("tests.training.multi_worker", *given, folder=tmp_path)
    multi_worker.main("one", tmp_path / "one.npz")
    with np.load(tmp_path / "one.npz") as expected:
        for out in outs:
            with np.load(out) as arrays:
                assert set(arrays.files) == set(expected.files)
                for key in expected.files:
                    np.testing.assert_allclose(arrays[key], expected[key], atol=1e-5, err_msg=key)


def test_one_process_is_the_chief():
    alone = Workers(strategy_named("one"))
    assert alone.is_chief and alone.told({"a": 1}) == {"a": 1}
    arrays = {"a": np.ones(3)}
    assert alone.told_arrays(arrays) is arrays
    alone.check_equal({"a": 1})
    with pytest.raises(ValueError, match=r"^mine$"), alone.watched():
        raise ValueError("mine")


def test_workers_meet_before_tensorflow_runs(monkeypatch):
    config = '{"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", config)
    assert tf.reduce_sum(tf.ones(3)) == 3
    with pytest.raises(ValueError, match=r"'multiworker' before TensorFlow has run anything"):
        strategy_named("multiworker")
