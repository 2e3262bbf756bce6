"""A SavedModel whose graph was made smaller: the same answers, shapes and dtypes from less."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.serving.smaller_graph import shrink_graph


def functions(folder):
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((folder / "saved_model.pb").read_bytes())
    return {
        function.signature.name: function
        for graph in proto.meta_graphs
        for function in graph.graph_def.library.function
    }


def repeated(function):
    """How many constants of a function equal another one."""
    values = collections.Counter(
        (node.attr["dtype"].type, node.attr["value"].tensor.SerializeToString(deterministic=True))
        for node in function.node_def
        if node.op == "Const" and not node.input
    )
    return values.total() - len(values)


@tf.function(input_signature=[tf.TensorSpec([None, 3], name="x"), tf.TensorSpec([], tf.int32)])
def branching(x, steps):
    """Equal constants side by side, as results, behind control inputs, in loops and branches."""
    with tf.control_dependencies([tf.constant(7.0), tf.constant(7.0)]):
        doubled = tf.concat([x, x], axis=-1) + 0.5
    twice = tf.constant(2.5) + tf.constant(2.5)

    def body(step, total):
        return step + 1, total * 0.5 + tf.cond(step > 1, lambda: 0.5, lambda: 1.5) + 0.5

    _, total = tf.while_loop(lambda step, _: step < steps, body, [0, doubled])
    return {
        "total": tf.reshape(total, [-1, 2, 3]),
        "one": tf.constant([1, 3]),
        "same": tf.constant([1, 3]),
        "twice": twice,
        "ranged": tf.range(steps) + tf.shape(tf.reshape(x, [-1]))[0],
    }


@pytest.mark.parametrize("steps", [0, 3])
def test_answers_and_shapes_stay(steps, tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path), {"branching": branching})
    before, sizes = functions(tmp_path), (tmp_path / "saved_model.pb").stat().st_size
    assert sum(map(repeated, before.values())) > 5
    x = tf.constant([[2.0, -3.0, 5.0], [7.0, 0.0, -11.0]])
    expected = branching(x, steps)
    written = tf.saved_model.experimental.read_fingerprint(str(tmp_path))
    shrink_graph(tmp_path)
    after = functions(tmp_path)
    assert after.keys() == before.keys() and not any(map(repeated, after.values()))
    assert (tmp_path / "saved_model.pb").stat().st_size < 0.9 * sizes
    fingerprint = tf.saved_model.experimental.read_fingerprint(str(tmp_path))
    assert fingerprint.saved_model_checksum != written.saved_model_checksum
    signature = tf.saved_model.load(str(tmp_path)).signatures["branching"]
    (name,) = signature.structured_input_signature[1].keys() - {"x"}
    answer = signature(x=x, **{name: tf.constant(steps)})
    assert answer.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(answer[key], value)
        assert signature.structured_outputs[key].dtype == value.dtype
    assert signature.structured_outputs["total"].shape.as_list() == [None, 2, 3]

    @tf.function
    def around(x):
        answer = signature(x=x, **{name: 2})
        assert answer["total"].shape.as_list() == [None, 2, 3]
        return answer["total"]

    np.testing.assert_array_equal(around(x), branching(x, 2)["total"])
    path = tmp_path / "saved_model.pb"
    once = path.read_bytes()
    shrink_graph(tmp_path)
    assert path.read_bytes() == once
