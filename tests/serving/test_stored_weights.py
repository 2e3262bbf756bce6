"""Weights stored in fewer bits: how close they are, and that they are restored once."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.saved.loading import load
from keras_attn.saved.session import SavedSession
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import export_service, unservable_ops
from keras_attn.serving.precision import set_precision
from keras_attn.serving.stored_weights import LARGEST, SHARE, StoredWeights, quantized, restored
from tests.quick import rows
from tests.serving.rounding import as_stored
from tests.serving.test_precision import functions, matmul_types
from tests.serving.tiny_service import PICTURES, caption_service
from tests.training import tiny

SHARES = {"float16": 0.65, "int8": 0.55}
"""Of the bytes of float32, at most; tiny matrices have many scales and vectors beside them."""


@pytest.fixture(scope="module", params=rows(SHARES, {"int8"}, "slow"))
def storage(request):
    return request.param


@pytest.fixture(scope="module")
def stored(storage, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "stored"
    return export_service(caption_service(), folder, "card", storage=storage)


def weights_size(version):
    """Bytes of the numbers in a version's checkpoint."""
    reader = tf.train.load_checkpoint(str(version / "variables" / "variables"))
    kinds = reader.get_variable_to_dtype_map()
    shapes = reader.get_variable_to_shape_map()
    numbers = [name for name, kind in kinds.items() if kind != tf.string]
    return sum(int(np.prod(shapes[name])) * kinds[name].size for name in numbers)


def rounded(storage):
    """The service, with weights that are rounded as they are stored."""
    service = caption_service()
    for variable in service.model.variables:
        variable.assign(as_stored(variable.numpy(), storage))
    return service


@pytest.mark.systems
def test_stored_in_less_space(tiny_export, stored, storage):
    assert weights_size(stored) < SHARES[storage] * weights_size(tiny_export)
    assert read_metadata(stored)["storage"] == storage
    assert read_metadata(tiny_export)["storage"] == "float32"
    assert unservable_ops(stored) == set()
    assert set(matmul_types(stored)) == {tf.float32.as_datatype_enum}
    small = {tf.float16.as_datatype_enum, tf.int8.as_datatype_enum}
    for function in functions(stored):
        casts = [node for node in function.node_def if node.attr["SrcT"].type in small]
        assert not casts or "initializer" in function.signature.name, function.signature.name


@pytest.mark.systems
def test_answers_are_those_of_the_rounded_weights(stored, storage):
    expected = rounded(storage).explain(PICTURES)
    in_python = tf.saved_model.load(str(stored)).signatures["explain"]
    answers = (
        load(stored).outputs("explain", {IMAGE: PICTURES}),
        SavedSession(stored, b"").outputs("explain", {IMAGE: PICTURES}),
        in_python(image=tf.constant(PICTURES)),
    )
    for answer in answers:
        for key, value in expected.items():
            if value.dtype == tf.float32:
                np.testing.assert_allclose(answer[key], value, atol=1e-4, err_msg=key)
            else:
                np.testing.assert_array_equal(answer[key], value, err_msg=key)


@pytest.mark.slow
def test_models_that_are_loaded_together_keep_their_weights(stored, tiny_export, storage):
    """Restored variables have names, and Python's TensorFlow has one variable of a name."""
    other = caption_service()
    for variable in other.model.trainable_variables:
        variable.assign(variable * 0.5)
    folder = stored.parent.parent / "other"
    versions = [stored, export_service(other, folder, "card", storage=storage), tiny_export]
    alone = [load(version).outputs("explain", {IMAGE: PICTURES})["score"] for version in versions]
    models = [tf.saved_model.load(str(version)) for version in (*versions, stored)]
    given = tf.constant(PICTURES)
    scores = [model.signatures["explain"](image=given)["score"].numpy() for model in models]
    for score, expected in zip(scores, [*alone, alone[0]]):
        np.testing.assert_allclose(score, expected, atol=1e-4)
    assert np.abs(alone[0] - alone[1]).max() > 0.01


@pytest.mark.systems
def test_stored_weights_can_be_read_again(stored, storage):
    loaded = restored(tf.saved_model.load(str(stored)))
    for value, variable in zip(loaded, rounded(storage).model.variables, strict=True):
        np.testing.assert_allclose(value, variable, atol=1e-7, err_msg=variable.path)


@pytest.mark.parametrize("shape", [(17, 19), (17, 2, 19), (3, 3, 17, 23)])
def test_whole_numbers_are_the_closest(shape):
    random = np.random.default_rng(3)
    value = random.normal(size=shape).astype("float32")
    value *= np.exp(random.normal(size=(*shape[:-1], 1))).astype("float32")
    whole, scale = quantized(value)
    assert whole.dtype == np.int8 and np.abs(whole.astype(int)).max() == LARGEST
    assert scale.dtype == np.float32 and SHARE * scale.size <= value.size
    assert (np.abs(whole * scale - value) <= 0.5001 * scale).all()
    by_column = np.abs(value).max(axis=tuple(range(len(shape) - 1))) / LARGEST
    error = np.square(np.rint(value / by_column) * by_column - value).sum()
    assert np.square(whole * scale - value).sum() < error


@pytest.mark.parametrize("shape", [(1, 1, 24, 40), (3, 3, 24, 1), (1, 700), (2, 3)])
def test_scales_are_few(shape):
    value = np.random.default_rng(5).normal(size=shape).astype("float32")
    _, scale = quantized(value)
    assert scale.size <= max(value.size / SHARE, min(shape)), scale.shape


def test_zeros_stay_zeros():
    whole, scale = quantized(np.zeros((3, 5), "float32"))
    assert not whole.any() and np.isfinite(scale).all()


@pytest.mark.parametrize("storage", SHARES)
def test_what_cannot_be_stored(storage):
    model = tiny.captioner()
    with pytest.raises(ValueError, match=r"storage of \('float32', 'float16', 'int8'\).*'int4'"):
        StoredWeights(model, "int4")
    matrix = next(variable for variable in model.trainable_variables if len(variable.shape) > 1)
    for value in [np.nan, np.inf] + [7e4] * (storage == "float16"):
        matrix.assign(np.full(matrix.shape, value))
        with pytest.raises(ValueError, match=f"within {storage}. Received: .*values up to"):
            StoredWeights(model, storage)
    set_precision(model, "bfloat16")
    with pytest.raises(ValueError, match="Expected storage='float32' with precision 'bfloat16'"):
        StoredWeights(model, storage)
    with StoredWeights(model, "float32").read():
        assert not np.isfinite(matrix).all() or float(np.max(matrix)) == 7e4
