"""The precision of an export: it changes the arithmetic, and only where it should."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.contracts import LOGITS, SCORE, SOURCE, TOKEN_SCORES, TOKENS, WEIGHTS
from keras_attn.decoding import Greedy, decode
from keras_attn.models import Transformer, TransformerConfig
from keras_attn.saved.loading import load
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import export_service
from keras_attn.serving.precision import cast_once, precision_of, set_precision
from tests.serving.tiny_service import PICTURES, caption_service
from tests.training import tiny

CAPTIONS = ["a red dog", "two blue dogs", "", "dogs", ""]


@pytest.fixture(scope="module")
def low(tmp_path_factory):
    service = caption_service()
    set_precision(service.model, "bfloat16")
    return export_service(service, tmp_path_factory.mktemp("models") / "low", "card")


def functions(version):
    proto = saved_model_pb2.SavedModel()
    proto.ParseFromString((version / "saved_model.pb").read_bytes())
    return proto.meta_graphs[0].graph_def.library.function


def matmul_types(version):
    return [
        node.attr["T"].type
        for function in functions(version)
        for node in function.node_def
        if node.op in ("MatMul", "BatchMatMulV2")
    ]


@pytest.mark.systems
def test_the_arithmetic_changes(tiny_export, low):
    assert set(matmul_types(tiny_export)) == {tf.float32.as_datatype_enum}
    types = matmul_types(low)
    logits = types.count(tf.float32.as_datatype_enum)
    assert 0 < logits < types.count(tf.bfloat16.as_datatype_enum) / 4
    assert read_metadata(tiny_export)["precision"] == "float32"
    assert read_metadata(low)["precision"] == "bfloat16"


@pytest.mark.systems
def test_weights_are_cast_before_the_loop(low):
    bodies = [function for function in functions(low) if "while_body" in function.signature.name]
    assert bodies
    for body in bodies:
        reads = {node.name for node in body.node_def if node.op == "ReadVariableOp"}
        casts = [node for node in body.node_def if node.op == "Cast"]
        assert not [cast.name for cast in casts if cast.input[0].split(":")[0] in reads]


@pytest.mark.systems
def test_answers_are_close_and_float32(tiny_export, low):
    full, half = load(tiny_export), load(low)
    pairs = zip(
        *(captioner.ask("score", image=PICTURES, caption=CAPTIONS) for captioner in (full, half))
    )
    scores = np.array([(answer[SCORE], low_answer[SCORE]) for answer, low_answer in pairs])
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], rtol=0.05)
    assert np.any(scores[:, 0] != scores[:, 1])
    answer = half.ask("explain", image=PICTURES[:2])[0]
    for key in (SCORE, TOKEN_SCORES, WEIGHTS):
        assert answer[key].dtype == np.float32, key
    sums = answer[WEIGHTS].sum((2, 3))
    assert np.all(np.isclose(sums, 1.0, atol=1e-5) | (sums == 0.0))


def test_a_model_of_either_training_becomes_either():
    inputs, _, _ = tiny.batch()
    model = tiny.captioner()
    before = model(inputs)[LOGITS].numpy()
    set_precision(model, "bfloat16")
    assert precision_of(model) == "bfloat16"
    half = model(inputs)[LOGITS]
    assert half.dtype == tf.float32 and np.any(half.numpy() != before)
    with cast_once(model.decoder):
        np.testing.assert_array_equal(model(inputs)[LOGITS], half)
    set_precision(model, "float32")
    np.testing.assert_array_equal(model(inputs)[LOGITS], before)
    with pytest.raises(ValueError, match="Received: 'float16'"):
        set_precision(model, "float16")


@pytest.mark.parametrize("normalize_first", [False, True])
def test_layer_normalization_keeps_its_weights(normalize_first):
    config = TransformerConfig(13, None, 1, 6, 11, 2, 3, 3, normalize_first=normalize_first)
    model = Transformer(config)
    model.build()
    set_precision(model, "bfloat16")
    batch = {SOURCE: np.array([[5, 7, 3]]), TOKENS: np.array([[2, 5, 11]])}
    expected = model(batch)[LOGITS]
    with cast_once(model.decoder):
        np.testing.assert_array_equal(model(batch)[LOGITS], expected)
        found = decode(model, batch[SOURCE], Greedy(), max_length=5)
    assert found.tokens.shape == (1, 1, 5)
