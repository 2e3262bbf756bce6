"""Services that are put together wrong, or answer wrong, are refused by name."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.serving import FunctionService, GenerationService, LabelService, export_service
from keras_attn.serving.readers import TextReader
from keras_attn.serving.writers import LabelWriter
from keras_attn.text import LabelTable, Tokenizer

GOOD = {"text": [["a"]], "score": [[0.5]], "error": [""]}


def functional(changed, served=("text", "score"), **options):
    """A service of one text whose function answers with GOOD, but for what is changed."""

    def explain(source):
        answer = {**GOOD, **changed} if isinstance(changed, dict) else changed
        return answer

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    return FunctionService(model, {}, explain, served, **options)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (None, "Expected a dict of tensors from the function, 'error' among them"),
        (([["a"]], [[0.5]]), "Expected a dict of tensors from the function"),
        ({"error": [[""]]}, r"'error' to be string of 1 axes.* shape \(1, 1\)"),
        ({"text": ["a"]}, r"'text' to be string of 2 axes.* shape \(1,\)"),
        ({"text": [[1]]}, "'text' to be string of 2 axes.*Received: int32"),
        ({"score": [[1]]}, "'score' to be float32 of 2 axes.*Received: int32"),
        ({"labels": "a"}, "'labels' to be string of 2 axes"),
        ({"more": 3.0}, "'more' to be float32 of one or more axes"),
        ({"more": [[1], [2, 3]]}, "Expected a tensor as answer 'more'"),
        ({"more": tf.ragged.constant([[1], [2, 3]])}, "Expected a tensor as answer 'more'"),
    ],
    ids=str,
)
def test_answers_of_a_function(changed, message):
    with pytest.raises(ValueError, match=message):
        functional(changed).answer(["one"])


def test_answers_may_be_arrays():
    answer = functional({"more": np.array([[7]])}).explain(["one"])
    assert answer["more"].numpy().tolist() == [[7]]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_answers_of_another_number_of_rows(count):
    service = functional({"text": [["a"]] * 3})
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows of text as requests"):
        service.answer(["one"] * count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"served": "text"}, "Expected a list of names as served"),
        ({"served": ()}, "Expected a list of names as served"),
        ({"examples": {"sauce": b"a"}}, "Expected examples of source. Received: sauce"),
        ({"views": "all"}, "Expected a list of declared views. Received: 'all'"),
    ],
    ids=str,
)
def test_arguments_of_a_function_service(options, message):
    with pytest.raises(ValueError, match=message):
        functional({}, **options)


@pytest.mark.parametrize("function", [lambda: GOOD, lambda *all: GOOD, lambda *, a: GOOD])
def test_functions_without_inputs(function):
    with pytest.raises(ValueError, match="Expected a function of one or more positional"):
        FunctionService(None, {}, function, ["text"])


def test_answers_that_are_not_there():
    with pytest.raises(ValueError, match=r"Expected answers text, nix, error"):
        functional({}, served=("text", "nix")).answer(["one"])


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"views": [], "digests": 2}, "Expected notes with keys of their own. Received: digests"),
        ({"a": np.float32(1)}, "Expected notes of JSON types"),
    ],
)
def test_notes_of_an_export(notes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_service(functional({}), tmp_path / "model", "card", notes)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def reader():
    return TextReader(Tokenizer.learn(["one two three"], 270), 11)


@pytest.mark.parametrize("target", ["source", "a b", "1"])
def test_names_of_given_texts(reader, target):
    with pytest.raises(ValueError, match="Expected an identifier as target, and another than sou"):
        GenerationService(None, reader, None, None, None, {}, target=target)


def classifier(reader, signature_functions):
    """A service of two classes."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.num_classes = 2
    return LabelService(
        model, reader, LabelWriter(LabelTable(["a", "b"]), 2), signature_functions, {}
    )


@pytest.mark.parametrize(
    "signature_functions", [{}, {"explain": len}, {"serving_default": len, "nix": len}]
)
def test_functions_of_other_signatures(reader, signature_functions):
    with pytest.raises(
        ValueError, match="Expected signature_functions for serving_default, explain, attention"
    ):
        classifier(reader, signature_functions)


@pytest.mark.parametrize("shape", [(3, 7), (3,), (3, 2, 1)])
def test_logits_of_other_classes(reader, shape):
    service = classifier(reader, {"serving_default": lambda features: (tf.zeros(shape), {})})
    with pytest.raises(ValueError, match=r"Expected logits \(B, 2\) for serving_default"):
        service.answer(["one", "two", "three"])


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_logits_of_other_rows(reader, rows):
    service = classifier(reader, {"serving_default": lambda features: (tf.zeros((rows, 2)), {})})
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many logits as requests"):
        service.answer(["one", "two", "three"])
