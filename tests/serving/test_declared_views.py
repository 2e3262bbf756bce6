"""Views from a service over its export to what loads it: what is not there is refused by name."""

import json
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import METADATA_FILE
from keras_attn.images.picture_format import PictureFormat
from keras_attn.saved.inputs import in_words, picture_bytes
from keras_attn.saved.loading import load
from keras_attn.serving import AnswerLength, FunctionService, GenerationService, export_service
from keras_attn.serving.requests import joined
from keras_attn.viz.declared import Heads, Matrix, Note, PictureMap, Requested, Strings
from tests.serving.registry import BY_NAME

SHARES = {"kind": "matrix", "weights": "shares", "columns": {"kind": "strings", "output": "words"}}


def service(views):
    """A service of one word for each text."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])

    def explain(source):
        ones = model(tf.ones_like(source[:, None], tf.float32)) * 0 + 1
        return {
            "text": source[:, None],
            "score": ones,
            "words": source[:, None],
            "shares": ones,
            "count": tf.strings.length(source),
            "error": tf.fill(tf.shape(source), ""),
        }

    return FunctionService(model, {}, explain, ["text", "score", "count"], views)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (Matrix("share", Strings("words")), "Expected outputs share of explain"),
        (Matrix("shares", Strings("word")), "Expected outputs word of explain"),
        (Matrix("shares", Strings("words"), signature="all"), "outputs shares, words of all"),
        (Matrix("shares", Requested("facts")), "Expected inputs facts of explain"),
        (PictureMap("shares"), "Expected inputs image of explain"),
        (Note("words", "one"), "Expected outputs words of serving_default"),
    ],
)
def test_a_view_of_what_is_not_there_is_not_exported(view, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_service(service([view]), tmp_path / "model", "card")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    views = [Matrix("shares", Strings("words")), Note("count", "{count} letters", "a letter")]
    return export_service(service(views), tmp_path_factory.mktemp("views") / "model", "card")


def with_views(exported, folder, views):
    """A copy of a version whose metadata declare other views."""
    version = shutil.copytree(exported, folder / "1")
    metadata = json.loads((version / METADATA_FILE).read_text())
    (version / METADATA_FILE).write_text(json.dumps({**metadata, "views": views}))
    return version


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ("all", "Expected a list of views"),
        ([SHARES, {"kind": "film"}], "Expected an object of kind matrix, .*'film'"),
        ([{**SHARES, "weights": "share"}], "Expected outputs share of explain"),
        ([{"kind": "picture_map", "weights": "shares"}], "Expected inputs image of explain"),
    ],
)
def test_metadata_by_somebody_else(exported, views, message, tmp_path):
    version = with_views(exported, tmp_path, views)
    with pytest.raises(ValueError, match=f"{message}.*, in {version}"):
        load(version)


def test_a_note_of_something_else_is_no_number(exported, tmp_path):
    note = {"kind": "note", "output": "score", "text": "a score"}
    with pytest.raises(ValueError, match=r"Expected whole numbers as score.*Received: float32"):
        load(with_views(exported, tmp_path, [SHARES, note]))
    view = Note("score", "a score")
    with pytest.raises(ValueError, match="Expected whole numbers as score"):
        export_service(service([view]), tmp_path / "model", "card")


def test_a_model_without_views_answers_and_draws_nothing(exported, tmp_path):
    saved = load(with_views(exported, tmp_path, []))
    assert saved.predict(["abc"])[0].text == "abc" and saved.views == saved.notes == []
    for draw in (saved.explain, saved.explore):
        with pytest.raises(ValueError, match="Expected a SavedModel with views of where it looked"):
            draw("abc")


def test_views_and_notes_are_drawn_and_said(exported):
    saved = load(exported)
    drawing, page = saved.explain("abc"), saved.explore("a")
    assert drawing.text == "abc (3 letters)" and drawing.data.columns == ("abc",)
    np.testing.assert_array_equal(drawing.data.weights, np.ones((1, 1, 1, 1)))
    assert page.notes == ["a letter"] and [view.name for view in page.views] == ["shares"]
    assert [note.value(saved.predict(["abc"])[0].outputs) for note in saved.notes] == [3]


def test_services_are_exported_without_matplotlib_and_pillow():
    code = """
import sys
sys.modules.update(matplotlib=None, PIL=None)
from keras_attn.serving import FunctionService, GenerationService, sequence_service, views
from keras_attn.serving.declared import check_views
print([view.to_plain()["kind"] for view in views.CAPTION_VIEWS])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "picture_map" in done.stdout, done.stderr[-2000:]


@pytest.mark.parametrize("size", [(40, 10), (10, 40), (7, 7), (1, 9)])
def test_a_cropped_picture_is_shown_as_the_model_sees_it(size):
    pixels = np.random.default_rng(3).integers(0, 256, (*size, 3), "uint8")
    metadata = {"fit": "crop", "image_size": [5, 7]}
    encoded = picture_bytes(pixels)
    shown = in_words({"image": encoded}, metadata)["image"]
    crop = PictureFormat(5, 7, "crop")
    expected = PictureFormat(5, 7).resize(tf.constant(shown))
    np.testing.assert_array_equal(crop.resize(tf.constant(pixels)), expected)
    np.testing.assert_array_equal(in_words({"image": encoded}, {})["image"], pixels)


@pytest.mark.parametrize(
    ("fit", "edge", "expected"),
    [
        ("shortest_edge", None, (40, 40)),
        ("shortest_edge", 16, (20, 20)),
        ("squash", 16, (20, 40)),
        ("crop", 16, (20, 20)),
    ],
)
def test_the_center_of_a_resized_picture_is_shown(fit, edge, expected):
    """Of rows and columns numbered from the middle outwards."""
    rows, columns = np.abs(np.arange(40) * 2 - 39), np.abs(np.arange(80) * 2 - 79)
    pixels = np.stack(np.broadcast_arrays(rows[:, None], columns, 0), -1).astype("uint8")
    metadata = {"fit": fit, "image_size": [8, 8], "resized_edge": edge}
    shown = in_words({"image": picture_bytes(pixels)}, metadata)["image"]
    assert shown.shape == (*expected, 3)
    assert shown.max((0, 1)).tolist() == [expected[0] - 1, expected[1] - 1, 0]


def test_requests_in_words():
    facts = np.array([[b"Ada", b"field", b"sums"], [b"", b"name", b"Ben"]], object)
    fed = {"facts": facts, "lines": np.array([b"one", b"two"], object), "source": "text", "a": b"b"}
    assert in_words(fed, {}) == {
        "facts": ["Ada | field | sums", "name | Ben"],
        "lines": ["one", "two"],
        "source": "text",
        "a": "b",
    }


def test_a_generation_service_keeps_views_of_ones_own(tiny_text_service):
    own = Matrix("weights", Strings("pieces"), Strings("pieces"), signature="attention", name="own")
    parts = ("model", "reader", "writer", "strategy", "length", "vocabularies")
    given = {name: getattr(tiny_text_service, name) for name in parts}
    heads = Heads("decoder_weights", Strings("pieces"), Strings("pieces"), signature="attention")
    service = GenerationService(**given, views=[own, heads])
    assert service.views == (own, heads)
    given["model"] = type("Plain", (), {})()
    assert GenerationService(**given, views=[own, heads]).views == (own,)


@pytest.mark.parametrize("name", ["texts", "facts", "trees"])
def test_a_maximum_length_for_all_answers_goes_with_every_writer(name, service_named):
    service = service_named(name)
    parts = ("model", "reader", "writer", "strategy", "vocabularies")
    given = {part: getattr(service, part) for part in parts}
    bounded = GenerationService(**given, length=AnswerLength(11))
    columns = BY_NAME[name].columns[next(iter(service.reader.examples))][:1]
    answer = bounded.explain(tf.constant(joined(columns), tf.string))
    assert answer["tokens"].shape[-1] <= 11 and not answer["error"].numpy()[0]
