"""SavedModels asked through TensorFlow's C interface: their answers, and every kind of error."""

from pathlib import Path

import numpy as np
import pytest

import keras_attn
from benchmarks.processes import resident
from keras_attn.contracts import ERROR, SOURCE, TARGET, TEXT
from keras_attn.saved import c_session
from keras_attn.saved.c_model import CModel
from keras_attn.saved.c_session import CError, CSession
from tests.serving.tiny_service import picture

pytestmark = pytest.mark.systems

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [b"one two three", b"", "five ☂".encode(), b"\xff one", b"seven"]


def same(outputs, expected):
    assert sorted(outputs) == sorted(expected)
    for key, value in expected.items():
        assert outputs[key].shape == value.shape and outputs[key].dtype == value.dtype, key
        if value.dtype == np.float32:
            np.testing.assert_allclose(outputs[key], value, atol=1e-4, err_msg=key)
        else:
            np.testing.assert_array_equal(outputs[key], value, err_msg=key)


def test_the_bundled_captioner_answers_as_in_python():
    pictures = [picture(1, (64, 48), "JPEG"), b"no picture", picture(2, (48, 64))]
    folder = ROOT / "saved_models" / "flickr8k_captioner"
    expected = keras_attn.load(folder).outputs("serving_default", {"image": pictures})
    model = CModel(folder)
    same(model.outputs("serving_default", {"image": pictures}), expected)
    model.close()
    assert [bool(reason) for reason in expected[ERROR]] == [False, True, False]


@pytest.mark.parametrize("signature", ["serving_default", "explain", "score"])
def test_a_text_model_answers_as_in_python(c_translator, translator_in_python, signature):
    columns = {SOURCE: SOURCES}
    if signature == "score":
        columns[TARGET] = [b"eins", b"eins", b"zwei", b"eins", b"zwei " * 30]
    same(c_translator.outputs(signature, columns), translator_in_python.outputs(signature, columns))
    assert c_translator.inputs_of(signature) == translator_in_python.inputs_of(signature)


def test_both_models_describe_themselves_alike(c_translator, translator_in_python):
    assert c_translator.version == translator_in_python.version == "1"
    shapes, others = (
        model.signature_shapes()["signature_def"] for model in (c_translator, translator_in_python)
    )
    assert sorted(shapes) == sorted(others)
    for name, signature in others.items():
        for side in ("inputs", "outputs"):
            assert sorted(signature[side]) == sorted(shapes[name][side])
            for key, info in signature[side].items():
                other = shapes[name][side][key]
                assert info["dtype"] == other["dtype"]
                assert info["tensor_shape"] == other["tensor_shape"]


STRINGS = np.array([b"one"], object)


@pytest.mark.parametrize(
    ("signature", "columns", "message"),
    [
        ("none", {SOURCE: STRINGS}, "Expected one of .*'explain'.* Received: 'none'"),
        ("serving_default", {}, r"Expected inputs \['source'\]. Received: \[\]"),
        ("serving_default", {"image": STRINGS}, r"Received: \['image'\]"),
        ("serving_default", {SOURCE: STRINGS, "image": STRINGS}, "Received: .*'image', 'source'"),
        (
            "serving_default",
            {SOURCE: np.zeros(1, "float32")},
            "Expected source of type DT_STRING. Received: float32",
        ),
        (
            "serving_default",
            {SOURCE: np.zeros(1, "datetime64[s]")},
            "Expected numbers or bytes. Received: datetime64",
        ),
        ("serving_default", {SOURCE: np.array([None])}, "Expected bytes in an array of objects"),
        (
            "serving_default",
            {SOURCE: STRINGS[None]},
            r"Expected source of shape \(None,\). Received: \(1, 1\)",
        ),
        ("serving_default", {SOURCE: STRINGS[0:1].reshape(())}, r"Received: \(\)"),
        ("score", {SOURCE: STRINGS, TARGET: np.array([b"a", b"b"], object)}, r"."),
    ],
)
def test_requests_that_are_refused(c_translator, translator_in_python, signature, columns, message):
    with pytest.raises(ValueError, match=message):
        c_translator.outputs(signature, columns)
    with pytest.raises(ValueError, match=r"."):
        translator_in_python.outputs(signature, columns)


def test_an_empty_batch(c_translator, translator_in_python):
    for rows in ([], np.zeros(0, object)):
        for model in (c_translator, translator_in_python):
            assert model.outputs("serving_default", {SOURCE: rows})[TEXT].shape[0] == 0


def test_no_saved_model(tmp_path):
    with pytest.raises(ValueError, match="Expected a SavedModel or numbered versions of one"):
        CModel(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff" * 9)
    with pytest.raises(ValueError, match=r"Expected a SavedModel in .* Received: damaged files"):
        CModel(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(bytes([18, 0]))  # One graph, empty.
    with pytest.raises(ValueError, match=r"Expected a SavedModel in .* Received: Could not find"):
        CModel(tmp_path)


def test_no_library(tmp_path, monkeypatch):
    with pytest.raises(CError, match=r"none\.so"):
        CSession(tmp_path, [tmp_path / "none.so"])
    monkeypatch.setattr(c_session, "_package", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"Expected TensorFlow's libraries in .*cannot open"):
        CSession(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(c_session.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"libraries of tensorflow\. Received: no such"):
        CSession(tmp_path)


def test_memory_is_flat(c_translator):
    """Requests of 0.6 MB leave nothing behind; all of them would leave 90 MB."""
    columns = {SOURCE: [b"one two", b"\xff" * 600_000]}
    for _ in range(10):
        c_translator.outputs("explain", columns)
    before = resident()
    for _ in range(150):
        c_translator.outputs("explain", columns)
    assert resident() - before < 40
