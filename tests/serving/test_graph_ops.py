"""The check of exported graphs looks into every signature and every library function."""

import keras
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import graph_ops, unservable_ops

SPEC = [tf.TensorSpec((3,), tf.float32)]


def good(values):
    return {"values": values + 1.0}


def python_op(values):
    return tf.py_function(lambda tensor: tensor, [values], tf.float32)


def numpy_op(values):
    return tf.numpy_function(lambda tensor: tensor, [values], tf.float32)


def xla_op(values):
    return keras.ops.slice_update(values, [0], values[:1])


def in_a_loop(bad):
    def loop(values):
        def body(time, tensor):
            return time + 1, tf.ensure_shape(bad(tensor), (3,))

        return {"values": tf.while_loop(lambda time, tensor: time < 3, body, (0, values))[1]}

    return loop


@pytest.mark.parametrize(
    ("bad", "expected"),
    [(python_op, "EagerPyFunc"), (numpy_op, "PyFunc"), (xla_op, "XlaDynamicUpdateSlice")],
)
def test_a_bad_op_in_a_loop_of_the_second_signature(tmp_path, bad, expected):
    module = tf.Module()
    module.good = tf.function(good, input_signature=SPEC)
    module.bad = tf.function(in_a_loop(bad), input_signature=SPEC)
    signatures = {"serving_default": module.good, "other": module.bad}
    tf.saved_model.save(module, str(tmp_path), signatures)
    assert unservable_ops(tmp_path) == {expected}


def test_all_three_signatures_are_looked_at(tiny_export):
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((tiny_export / "saved_model.pb").read_bytes())
    signatures = proto.meta_graphs[0].signature_def
    assert {"serving_default", "explain", "score"} <= set(signatures)
    library = proto.meta_graphs[0].graph_def.library.function
    inside = {node.op for function in library for node in function.node_def}
    assert inside <= graph_ops(tiny_export) and len(inside) > 50
    assert not unservable_ops(tiny_export)
    must_compile = [function for function in library if function.attr["_XlaMustCompile"].b]
    assert not must_compile


def test_metadata_of_something_else(tmp_path):
    with pytest.raises(ValueError, match=r"Expected a version with assets\.extra"):
        read_metadata(tmp_path)
