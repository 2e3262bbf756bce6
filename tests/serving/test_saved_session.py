"""A SavedModel in a session: its answers, its errors, and what is left out at its start."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, saved_model_pb2

from benchmarks import start_up
from keras_attn.saved.session import SavedSession, session_config
from keras_attn.serving.export import export_service
from tests.serving.tiny_text_service import text_service

pytestmark = pytest.mark.systems

SENTENCES = np.array([b"one two", b"", b"two"], object)


@pytest.fixture(scope="module")
def session(tiny_text_export):
    return SavedSession(tiny_text_export)


def test_answers_are_those_of_the_signatures(session, tiny_text_export):
    loaded = tf.saved_model.load(str(tiny_text_export)).signatures
    assert set(session.signatures) == set(loaded)
    for name, function in loaded.items():
        inputs = dict.fromkeys(session.signatures[name].inputs, SENTENCES)
        expected = function(**{key: tf.constant(rows) for key, rows in inputs.items()})
        answer = session.run(name, inputs)
        assert set(answer) == set(expected)
        for key, value in answer.items():
            if value.dtype == object:
                np.testing.assert_array_equal(value, expected[key].numpy(), err_msg=key)
            else:
                np.testing.assert_allclose(value, expected[key], atol=1e-5, err_msg=key)


def test_threads_ask_at_the_same_time(session):
    def ask(place):
        return session.run("serving_default", {"source": SENTENCES[place % 3 :]})

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, range(640)))
    alone = session.run("serving_default", {"source": SENTENCES})["text"]
    for place, answer in enumerate(answers):
        np.testing.assert_array_equal(answer["text"], alone[place % 3 :])


def test_another_shape_is_refused(session):
    with pytest.raises(ValueError, match="shape"):
        session.run("serving_default", {"source": SENTENCES[None]})


def test_threads_and_the_optimizer_are_set():
    config = session_config()
    assert config.graph_options.rewrite_options.disable_meta_optimizer
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    assert config.intra_op_parallelism_threads == threads


def test_exported_functions_ask_not_to_be_rewritten(tmp_path):
    before = tf.config.optimizer.get_experimental_options()
    version = export_service(text_service(), tmp_path / "tiny", "card")
    after = tf.config.optimizer.get_experimental_options()
    key = "disable_meta_optimizer"
    assert after.get(key, False) == before.get(key, False)
    content = (version / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    nodes = [*graph.graph_def.node]
    nodes += [node for function in graph.graph_def.library.function for node in function.node_def]
    calls = [node for node in nodes if node.attr["config_proto"].s]
    assert len(calls) > 5
    for node in calls:
        options = config_pb2.ConfigProto.FromString(node.attr["config_proto"].s).graph_options
        assert options.rewrite_options.disable_meta_optimizer, node.name


def test_the_benchmark_has_a_row_for_each_road(tiny_text_export, monkeypatch):
    monkeypatch.setattr(start_up, "in_its_own_process", lambda work, *given: work(*given))
    table = start_up.compare([tiny_text_export], 1)
    assert [line.split(" | ")[2] for line in table.splitlines()[2:]] == list(start_up.ROADS)
