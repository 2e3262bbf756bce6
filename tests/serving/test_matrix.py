"""The matrix of services: each line of the registry does everything that a service must do."""

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.contracts import ERROR
from keras_attn.serving.declared import read_metadata
from keras_attn.serving.export import graph_ops, unservable_ops
from keras_attn.serving.requests import joined
from keras_attn.serving.warm_up import WARM_UP_BATCHES, WARM_UP_FILE, prediction_log
from tests.quick import rows
from tests.serving.registry import BY_NAME

MOST = {np.dtype("float32"): 1e-5, np.dtype("uint8"): 1}
"""Largest difference between the graph's numbers and Python's; other types must be equal."""

UNSCORABLE = ("texts",)
"""An untrained model may decode text that its tokenizer reads in more pieces than it may have."""


@pytest.fixture(scope="module", params=rows(BY_NAME, set(BY_NAME) - {"facts", "dnc"}))
def row(request):
    return BY_NAME[request.param]


@pytest.fixture(scope="module")
def service(row, service_named):
    return service_named(row.name)


@pytest.fixture(scope="module")
def saved(row, saved_named):
    return saved_named(row.name)


def signatures(row, service):
    """Names of a service's signatures, each with its function and the columns that it is given."""
    for name, (function, specs) in service.signatures().items():
        yield name, function, {spec.name: list(row.columns[spec.name]) for spec in specs}


def called(function, columns):
    """What a service answers in Python, as NumPy arrays."""
    answer = function(*(tf.constant(joined(column), tf.string) for column in columns.values()))
    return {key: value.numpy() for key, value in answer.items()}


def check_equal(value, expected, key):
    """Arrays of one type, equal up to rounding."""
    assert value.dtype == expected.dtype and value.shape == expected.shape, key
    if value.dtype in MOST:
        difference = np.abs(value.astype("float32") - expected.astype("float32"))
        assert difference.max(initial=0) <= MOST[value.dtype], key
    else:
        np.testing.assert_array_equal(value, expected, err_msg=key)


def test_a_saved_model_answers_as_its_service_and_bad_rows_are_empty(row, service, saved):
    assert saved.signatures == set(service.signatures())
    for name, function, columns in signatures(row, service):
        answer, expected = saved.outputs(name, columns), called(function, columns)
        assert answer.keys() == expected.keys()
        for key, value in answer.items():
            check_equal(value, expected[key], f"{name}: {key}")
        for place, (error, reason) in enumerate(zip(answer[ERROR], row.errors, strict=True)):
            assert error.decode().startswith(reason) and bool(error) == bool(reason), (name, error)
            for key in answer.keys() - {ERROR}:
                assert not reason or not np.any(answer[key][place]), (name, key, place)


def test_neighbors_change_nothing(row, service, saved):
    for name, _, columns in signatures(row, service):
        together = saved.outputs(name, columns)
        for place in range(len(row.errors)):
            here = slice(place, place + 1)
            alone = saved.outputs(name, {key: column[here] for key, column in columns.items()})
            for key, value in alone.items():
                beside, padding = together[key][here], np.ones(together[key][here].shape, bool)
                inside = tuple(slice(size) for size in value.shape)
                padding[inside] = False
                check_equal(value, beside[inside], f"{name}: {key}")
                assert not np.any(beside[padding]), f"{name}: {key}"


def test_an_empty_batch_has_empty_arrays(row, service, saved):
    for name, function, columns in signatures(row, service):
        arrays = {key: np.array(joined(column), object) for key, column in columns.items()}
        blank = {key: np.full_like(array[:1], b"") for key, array in arrays.items()}
        blank = saved.outputs(name, blank)
        none = {key: array[:0] for key, array in arrays.items()}
        for answer in (saved.outputs(name, none), called(function, none)):
            assert answer.keys() == blank.keys()
            for key, value in answer.items():
                assert value.shape == (0, *blank[key].shape[1:]), f"{name}: {key}"
                assert value.dtype == blank[key].dtype, f"{name}: {key}"


def test_warm_up_requests_are_answered(service, saved):
    records = tf.data.TFRecordDataset(str(saved.folder / WARM_UP_FILE)).as_numpy_iterator()
    expected = []
    for count in WARM_UP_BATCHES:
        requests = service.requests(count)
        assert requests.keys() == service.signatures().keys()
        for name, columns in requests.items():
            assert {len(column) for column in columns.values()} == {count}
            assert not saved.outputs(name, columns)[ERROR].any(), name
            expected.append(prediction_log("tiny", name, columns))
    assert list(records) == expected
    assert read_metadata(saved.folder)["warm_up_batches"] == list(WARM_UP_BATCHES)
    assert WARM_UP_BATCHES[0] == 1 < WARM_UP_BATCHES[1]


def test_predicts_and_explains(row, saved, tmp_path):
    prediction, again = saved.predict([row.asked] * 2)
    assert prediction.text and not prediction.error and prediction.alternatives
    assert prediction.text == again.text and np.isfinite(prediction.score)
    drawing = saved.explain(row.asked)
    assert drawing.text.startswith(prediction.text)
    drawing.save(tmp_path / "drawing.png")
    with Image.open(tmp_path / "drawing.png") as picture:
        assert min(picture.size) > 50 and len(set(picture.convert("L").tobytes())) > 5
    page = saved.explore(row.asked)
    assert page.answers[0][0] == prediction.text and page.views
    assert page.html().lstrip().lower().startswith("<!doctype html>")
    if "score" in saved.signatures and row.name not in UNSCORABLE:
        drawing = saved.explain(row.asked, by="occlusion")
        drawing.save(tmp_path / "occlusion.png")
        page = saved.explore(row.asked, by="occlusion")
        assert page.views[0].name == drawing.data.name and len(page.views) == len(saved.views) + 1
        assert page.html()


def test_a_graph_that_tensorflow_serving_runs(saved):
    assert not unservable_ops(saved.folder)
    assert not {"ReadFile", "WriteFile", "MatchingFiles"} & graph_ops(saved.folder)
