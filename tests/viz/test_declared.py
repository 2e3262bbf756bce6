"""Declared views: they survive metadata, refuse what is none, and read hand-made answers."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from keras_attn.contracts import END_ID, END_PIECE, PAD_ID, PLANNING_PIECE, START_PIECE
from keras_attn.serving import views
from keras_attn.viz.declared import (
    Before,
    Heads,
    Matrix,
    Note,
    Numbered,
    PictureMap,
    Pieces,
    Requested,
    Samples,
    ShadedText,
    Strings,
    Tracks,
    Tree,
    read_views,
)
from keras_attn.viz.declared.axes import AXES
from keras_attn.viz.declared.reading import KINDS, checked_views

RANDOM = np.random.default_rng(3)
PICTURE = RANDOM.integers(0, 256, (30, 42, 3), np.uint8)
PIECES = Pieces("pieces", "answer", "tokens")
SOURCE = Pieces("source", "source")
EVERY_KIND = [
    Matrix("weights", SOURCE, PIECES, outlined=True, sideways=True, name="a", signature="b"),
    Matrix("weights", Strings("words")),
    Heads("weights", Before("symbols", words=False), Strings("symbols", "tree"), heads="decoder"),
    PictureMap("weights", PIECES, name="where"),
    PictureMap("weights", grid="grid", layer="block", heads="encoder"),
    Samples("picture", "grid", "crop"),
    Tree("weights", "symbols", "words", "tags", name="brackets"),
    Tracks("write", "read", Strings("steps")),
    ShadedText("weights", SOURCE, signed=True),
    ShadedText("weights", Requested("facts", "facts", "groups", "(first)")),
    Matrix("weights", Strings("story"), Numbered("hop", "hops"), sideways=True),
    Note("dropped", "{count} lines", "one line"),
]
OURS = [
    *views.CAPTION_VIEWS,
    *views.TEXT_VIEWS,
    *views.TREE_VIEWS,
    *views.FACT_VIEWS,
    *views.PATCH_VIEWS,
    *views.SAMPLE_VIEWS,
    *views.CROP_VIEWS,
    *views.CONTRIBUTION_VIEWS,
    *views.story_views("head"),
    views.TRACKS,
    views.LONGER_NOTE,
]


def strings(*texts):
    """Strings as a SavedModel answers with them."""
    return np.array([text.encode() for text in texts], object)


def shares(*shape):
    """Weights whose last axis sums to 1."""
    weights = RANDOM.random(shape).astype("float32")
    return weights / weights.sum(axis=-1, keepdims=True)


def check_page(view):
    """Draws a view, and checks that its parts of a page are JSON."""
    view.figure("title").canvas.draw()
    parts = view.parts()
    assert parts and json.loads(json.dumps(parts, allow_nan=False)) == parts
    return parts


def answer_of_pieces():
    """Two answers of 5 places over a source of 7, of which 2 are padding."""
    return {
        "source": strings("▁a", "▁play", "ing", "▁dog", "</s>", "", ""),
        "pieces": np.stack([strings("▁Sp", "iel", "▁Hund", "", ""), strings(*"vwxyz")]),
        "tokens": np.array([[11, 13, 17, END_ID, PAD_ID], [3, 5, 7, 11, 13]], "int32"),
        "weights": shares(2, 5, 7),
    }


def test_every_kind_of_view_and_axis_is_tried():
    axes = {type(getattr(view, field.name)) for view in EVERY_KIND for field in fields(view)}
    assert {type(view) for view in EVERY_KIND} == set(KINDS.values())
    assert set(AXES.values()) <= axes


@pytest.mark.parametrize("view", [*EVERY_KIND, *OURS], ids=lambda view: view.kind)
def test_views_survive_metadata(view):
    assert read_views(json.loads(json.dumps([view.to_plain()]))) == [view]


def test_defaults_are_not_written():
    assert Matrix("weights", Strings("words")).to_plain() == {
        "kind": "matrix",
        "weights": "weights",
        "columns": {"kind": "strings", "output": "words"},
    }


def nested(depth):
    """Lists in lists."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


COLUMNS = {"kind": "strings", "output": "words"}
MATRIX = {"kind": "matrix", "weights": "weights", "columns": COLUMNS}


@pytest.mark.parametrize("values", [None, {}, MATRIX, "matrix", 7, True], ids=repr)
def test_metadata_that_are_no_list(values):
    with pytest.raises(ValueError, match="Expected a list of views"):
        read_views(values)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "Expected an object of kind matrix, heads, .*Received: None"),
        (7, "Expected an object of kind"),
        ("matrix", "Expected an object of kind"),
        ([MATRIX], "Expected an object of kind"),
        (nested(99), r"Expected an object of kind.*Received: \[\["),
        ({}, "Expected an object of kind"),
        ({**MATRIX, "kind": "Matrix"}, "Expected an object of kind"),
        ({**MATRIX, "kind": None}, "Expected an object of kind"),
        ({**MATRIX, "kind": ["matrix"]}, "Expected an object of kind"),
        (COLUMNS, "Expected an object of kind"),
        (
            {"kind": "matrix"},
            "Expected the fields .*weights, columns, .* of a matrix. Received: none",
        ),
        ({"kind": "matrix", "weights": "w"}, "Expected the fields .*Received: weights"),
        ({**MATRIX, "colour": "red"}, "Expected the fields .*colour"),
        ({**MATRIX, "__class__": "x"}, "Expected the fields .*__class__"),
        ({**MATRIX, "weights": 7}, "Expected weights of a matrix to be .*: 7"),
        ({**MATRIX, "weights": None}, "Expected weights of a matrix to be .*: None"),
        ({**MATRIX, "weights": ["weights"]}, "Expected weights of a"),
        ({**MATRIX, "weights": COLUMNS}, "Expected weights of a"),
        ({**MATRIX, "name": nested(90)}, "Expected name of a"),
        ({**MATRIX, "outlined": 1}, "Expected outlined of a matrix to be of another type"),
        ({**MATRIX, "sideways": "yes"}, "Expected sideways of a"),
        ({**MATRIX, "rows": "words"}, "Expected rows of a"),
        ({**MATRIX, "columns": None}, "Expected columns of a"),
        ({**MATRIX, "columns": [COLUMNS]}, "Expected columns of a"),
        ({**MATRIX, "columns": MATRIX}, "Expected an object of kind strings, pieces, "),
        ({**MATRIX, "columns": {"kind": "note"}}, "Expected an object of kind strings, "),
        ({**MATRIX, "columns": {"kind": "strings"}}, "Expected the fields output, title of a str"),
        ({**MATRIX, "columns": {**COLUMNS, "output": 7}}, "Expected output of a strings"),
        ({**MATRIX, "columns": {**COLUMNS, "output": COLUMNS}}, "Expected output of a"),
        ({**MATRIX, "columns": {**COLUMNS, "names": []}}, "Expected the fields output, title"),
        (
            {"kind": "note", "output": "n"},
            "Expected the fields output, text, singular, below of a note",
        ),
        ({"kind": "note", "output": "n", "text": 3.5}, "Expected text of a note"),
        ({"kind": "note", "output": "n", "text": "t", "signature": "x"}, "Expected the fields"),
        ({"kind": "tree", "weights": "w", "symbols": "s", "words": "w"}, "Expected the fields"),
        ({"kind": "samples", "picture": {}, "grid": "g", "crop": "c"}, "Expected an object of k"),
    ],
    ids=lambda value: f"{value!s:.40}",
)
def test_metadata_that_are_no_views(value, message):
    with pytest.raises(ValueError, match=message):
        read_views([MATRIX, value])


@pytest.mark.parametrize("field", ["kind", "weights", "columns", "name"])
def test_nesting_without_end(field):
    for value in (nested(100_000), {**MATRIX, field: nested(100_000)}):
        with pytest.raises(ValueError, match=r"^Expected .*Received: .*\.\.\."):
            read_views([value])


def test_a_matrix_of_words_has_the_sums_and_means_of_their_pieces():
    answer = answer_of_pieces()
    view = Matrix("weights", SOURCE, PIECES, outlined=True, name="Alignment").read(answer, {})
    assert view.rows == ("Spiel", "Hund", END_PIECE)
    assert view.columns == ("a", "playing", "dog", END_PIECE)
    weights = answer["weights"][0]
    expected = np.zeros((3, 4))
    for row, rows in enumerate([(0, 1), (2,), (3,)]):
        for column, columns in enumerate([(0,), (1, 2), (3,), (4,)]):
            expected[row, column] = weights[np.ix_(rows, columns)].sum() / len(rows)
    np.testing.assert_allclose(view.weights, expected[None, None], rtol=1e-5)
    (part,) = check_page(view)
    assert (part["name"], part["titles"]) == ("Alignment", ["answer", "source"])
    assert (part["rows"], part["columns"]) == (list(view.rows), list(view.columns))
    axis = view.figure().axes[0]
    assert (axis.get_ylabel(), axis.get_xlabel()) == ("answer", "source")


def test_a_matrix_without_rows_has_one():
    answer = {"weights": shares(5), "words": strings("a", "b", "c", "", "")}
    view = Matrix("weights", Strings("words", "text")).read(answer, {})
    assert (view.name, view.rows, view.columns) == ("weights", ("",), ("a", "b", "c"))
    np.testing.assert_array_equal(view.weights[0, 0, 0], answer["weights"][:3])
    check_page(view)


def test_facts_are_groups_of_places():
    answer = answer_of_pieces() | {"groups": np.array([1, 3, 3, 1, 2, 0, 0], "int32")}
    asked = {"facts": ["a | b | c", "d | e", "f | g"]}
    view = Matrix("weights", Requested("facts", "facts", "groups"), PIECES).read(answer, asked)
    assert view.columns == ("a | b | c", "d | e", "f | g")
    weights = answer["weights"][0]
    looked = np.stack([weights[:, [0, 3]].sum(1), weights[:, 4], weights[:, [1, 2]].sum(1)], 1)
    expected = [looked[:2].mean(axis=0), looked[2], looked[3]]
    np.testing.assert_allclose(view.weights[0, 0], expected, rtol=1e-5)
    check_page(view)


def test_links_have_a_row_before_all_facts():
    answer, asked = {"links": shares(6, 5)}, {"facts": ["x", "y", "z"]}
    rows = Requested("facts", "after", first="(first)")
    view = Matrix("links", Requested("facts", "next"), rows, heads="links").read(answer, asked)
    assert (view.rows, view.columns) == (("(first)", "x", "y", "z"), ("x", "y", "z"))
    assert view.titles == ("after", "next")
    np.testing.assert_array_equal(view.weights[0, 0], answer["links"][:4, :3])
    check_page(view)


def test_hops_are_numbered_and_stories_stand_beside_a_matrix():
    answer = {"weights": shares(3, 7), "story": strings("Mary left.", "John ate.", *[""] * 5)}
    view = Matrix("weights", Strings("story", "story"), Numbered("hop", "hops"), sideways=True)
    read = view.read(answer, {})
    assert read.rows == ("hop 1", "hop 2", "hop 3")
    assert read.columns == ("Mary left.", "John ate.") and read.titles == ("hops", "story")
    check_page(read)
    axis = read.figure().axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == list(read.columns)
    np.testing.assert_array_equal(axis.images[0].get_array(), answer["weights"][:, :2].T)


def test_heads_are_folded_and_follow_words():
    answer = answer_of_pieces() | {"heads": shares(2, 3, 7, 7)}
    declared = Heads("heads", SOURCE, SOURCE, name="Source to itself", heads="encoder")
    view = declared.read(answer, {})
    assert declared.follows_words
    assert view.rows == view.columns == ("a", "playing", "dog", END_PIECE)
    assert view.weights.shape == (2, 3, 4, 4)
    looked = answer["heads"][1, 2, 1:3, 1:3]
    np.testing.assert_allclose(view.weights[1, 2, 1, 1], looked.sum(1).mean(), rtol=1e-5)
    assert view.pieces == ("▁a", "▁play", "ing", "▁dog", END_PIECE)
    np.testing.assert_array_equal(view.by_piece, answer["heads"][..., :5, :5])
    (part,) = check_page(view)
    assert (part["layers"], part["heads"]) == (2, 3)
    figure = view.figure()
    assert len(figure.axes) == 6 and figure.get_suptitle() == "Source to itself"
    lines = view.word_figure("playing", 1)
    lines.canvas.draw()
    bold = [text.get_text() for text in lines.axes[0].texts if text.get_weight() == "bold"]
    assert bold == ["▁play", "ing"] and lines.get_suptitle() == "“playing” in layer 1, 3 heads"
    assert view.word_figure("a").get_suptitle() == "“a” in layer 2, 3 heads"
    for bad in ({"word": "cat"}, {"word": "a", "layer": 3}, {"word": "a", "layer": 0}):
        with pytest.raises(ValueError, match=r"Expected a (word|layer) of"):
            view.word_figure(**bad)


def test_a_decoder_looks_at_what_it_read_before():
    answer = {"weights": shares(2, 3, 5, 5), "pieces": strings("▁a", "▁do", "g", END_PIECE, "")}
    view = Heads("weights", Before("pieces", "read before"), Pieces("pieces")).read(answer, {})
    assert view.rows == ("a", "dog", END_PIECE) and view.columns == (START_PIECE, "a", "dog")
    looked = answer["weights"][0, 0, 1:3]
    expected = [looked[:, 0].mean(), looked[:, 1].mean(), looked[:, 2:4].sum(axis=1).mean()]
    np.testing.assert_allclose(view.weights[0, 0, 1], expected, rtol=1e-5)
    check_page(view)
    assert not Heads("weights", Before("pieces"), Pieces("pieces")).follows_words


def test_symbols_that_are_no_pieces_have_a_row_each():
    symbols = strings("(S", "XX", "XX", ")S", "")
    answer = {"weights": shares(1, 2, 5, 5), "symbols": symbols}
    rows, before = Strings("symbols", "tree"), Before("symbols", words=False)
    view = Heads("weights", before, rows).read(answer, {})
    assert view.rows == ("(S", "XX", "XX", ")S")
    assert view.columns == (START_PIECE, "(S", "XX", "XX")
    np.testing.assert_array_equal(view.weights, answer["weights"][..., :4, :4])
    check_page(view)


def test_each_word_of_the_first_caption_looks_at_the_picture():
    answer = answer_of_pieces() | {"weights": RANDOM.random((2, 5, 3, 7)).astype("float32")}
    view = PictureMap("weights", PIECES, name="Where").read(answer, {"image": PICTURE})
    assert view.steps == ("Spiel", "Hund") and view.weights.shape == (1, 1, 2, 3, 7)
    maps = answer["weights"][0]
    np.testing.assert_allclose(view.weights[0, 0, 0], maps[:2].mean(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(view.weights[0, 0, 1], maps[2])
    (part,) = check_page(view)
    assert (part["steps"], part["grid"]) == (["Spiel", "Hund"], [3, 7])
    titles = [axis.get_title() for axis in view.figure("Spiel Hund").axes]
    assert titles[:3] == ["", "Spiel", "Hund"]


def test_each_head_looks_at_the_picture_for_each_word():
    pieces = strings("▁a", "▁", "▁do", "g.", END_PIECE)
    answer = {"weights": shares(2, 3, 5, 3, 7), "pieces": pieces}
    declared = PictureMap("weights", Pieces("pieces"), heads="cross")
    view = declared.read(answer, {"image": PICTURE})
    assert declared.follows_words and view.steps == ("a", "dog.")
    expected = answer["weights"][:, :, 2:4].mean(axis=2)
    np.testing.assert_allclose(view.weights[:, :, 1], expected, rtol=1e-6)
    (part,) = check_page(view)
    assert (part["layers"], part["heads"], part["layer"]) == (2, 3, "layer")
    assert len(view.figure().axes) == 2 * 6 + 1
    figure = view.word_figure("dog", 2, "a dog.")
    assert figure.get_suptitle() == "“dog” in: a dog." and len(figure.axes) == 3 + 1
    assert figure.axes[0].get_ylabel() == "layer 2"
    for bad in ({"word": "cat"}, {"word": "dog", "layer": 3}):
        with pytest.raises(ValueError, match=r"Expected a (word|layer) of"):
            view.word_figure(**bad)


@pytest.mark.parametrize("caption", [[], [END_PIECE]])
def test_captions_without_words(caption):
    pieces = strings(*caption, *[""] * (5 - len(caption)))
    answer = {"weights": shares(2, 3, 5, 3, 7), "pieces": pieces}
    view = PictureMap("weights", Pieces("pieces")).read(answer, {"image": PICTURE})
    assert view.steps == () and view.parts()[0]["weights"] == {"largest": 1.0, "values": ""}
    with pytest.raises(ValueError, match="Expected an answer with words"):
        view.figure()


@pytest.mark.parametrize("places", [35, 36])
def test_patches_look_at_patches(places):
    answer = {"weights": shares(2, 3, places, places), "grid": shares(5, 7)}
    asked = {"image": PICTURE}
    view = PictureMap("weights", grid="grid", layer="block", heads="encoder").read(answer, asked)
    first = answer["weights"][:, :, 0, 1:] if places == 36 else answer["weights"].mean(axis=2)
    assert view.steps == () and view.weights.shape == (2, 3, 1, 5, 7)
    np.testing.assert_allclose(view.weights.reshape(first.shape), first, rtol=1e-5)
    (part,) = check_page(view)
    assert (part["steps"], part["layer"], part["layers"]) == (["picture"], "block", 2)
    axes = view.figure().axes
    assert [axes[0].get_ylabel(), axes[3].get_ylabel()] == ["block 1", "block 2"]


def test_a_rollout_is_drawn_from_its_smallest_share_on():
    answer = {"weights": np.full((5, 7), 0.5, "float32")}
    answer["weights"][2, 3] = 1
    view = PictureMap("weights").read(answer, {"image": PICTURE})
    (part,) = check_page(view)
    alone = PictureMap("weights").read(
        {"weights": answer["weights"] - np.float32(0.5)}, {"image": PICTURE}
    )
    assert part["weights"] == alone.parts()[0]["weights"] and len(view.figure().axes) == 3


def test_samples():
    axis = [np.linspace(-0.5, 0.5, size) for size in (11, 13)]
    grid = np.stack(np.meshgrid(*axis, indexing="ij")[::-1], axis=-1).astype("float32")
    answer = {"picture": PICTURE, "grid": grid, "crop": PICTURE[:11, :13]}
    view = Samples("picture", "grid", "crop", name="Read").read(answer, {"image": b""})
    for places, label in ([1, 1], ""), ([2, 3], "view 2 of 3"):
        answer["view"] = np.array(places, "int32")
        labeled = Samples("picture", "grid", "crop", "view").read(answer, {"image": b""})
        assert check_page(labeled)[0]["label"] == label
        assert labeled.figure("cat").get_suptitle() == f"cat, {label}".removesuffix(", ")
    with pytest.raises(ValueError, match="Expected view to be two numbers"):
        Samples("picture", "grid", "crop", "view").read({**answer, "view": np.zeros(3)}, {})
    (part,) = check_page(view)
    assert (part["type"], part["name"]) == ("sampling", "Read")
    points = np.array(part["points"])
    assert points.shape == (9, 9, 2)
    np.testing.assert_allclose(points[[0, -1], [0, -1]], [[-0.5, -0.5], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("output", "shape", "dtype"),
    [
        ("picture", (30, 42), "uint8"),
        ("picture", (30, 42, 3), "float32"),
        ("crop", (5, 7, 1), "uint8"),
        ("grid", (5, 7), "float32"),
        ("grid", (5, 7, 3), "float32"),
        ("grid", (7, 5, 2), "float32"),
    ],
)
def test_samples_that_do_not_fit(output, shape, dtype):
    answer = {"picture": PICTURE, "grid": np.zeros((5, 7, 2)), "crop": PICTURE[:5, :7]}
    answer[output] = np.zeros(shape, dtype)
    with pytest.raises(ValueError, match=rf"^Expected .*\b{output}\b.*Received: .*shape \("):
        Samples("picture", "grid", "crop").read(answer, {})


def test_trees_have_a_row_for_each_symbol_and_a_column_for_each_word():
    answer = {
        "symbols": np.stack([strings("(S", "XX", "XX", ")S", ""), strings(*"vwxyz")]),
        "words": strings("dogs", "bark", END_PIECE, "", "", "", ""),
        "tags": strings("NNS", "VBP", "", "", "", "", ""),
        "weights": shares(2, 5, 7),
    }
    view = Tree("weights", "symbols", "words", "tags", name="Brackets").read(answer, {})
    assert (view.words, view.tags) == (("dogs", "bark"), ("NNS", "VBP"))
    assert view.symbols == ("(S", "XX", "XX", ")S")
    np.testing.assert_array_equal(view.weights, answer["weights"][0, :4, :3])
    (part,) = check_page(view)
    assert (part["rows"], part["columns"]) == (list(view.symbols), ["dogs", "bark", END_PIECE])
    rows = [axis.images[0].get_array() for axis in view.figure().axes[1:]]
    np.testing.assert_array_equal(np.concatenate(rows), view.weights[[0, 3]])


def test_tracks_of_heads():
    steps = ["01", "10", END_PIECE, PLANNING_PIECE, "01", "10", ""]
    answer = {"write": shares(7, 1, 5), "read": shares(7, 2, 5), "steps": strings(*steps)}
    view = Tracks("write", "read", Strings("steps"), name="Heads").read(answer, {})
    assert view.steps == tuple(steps[:6])
    np.testing.assert_array_equal(view.write, answer["write"][:6])
    np.testing.assert_array_equal(view.read, answer["read"][:6])
    writing, reading = check_page(view)
    assert (writing["name"], reading["name"]) == ("Writing", "Reading")
    assert (writing["heads"], reading["heads"]) == (1, 2)
    assert reading["columns"] == [f"slot {slot}" for slot in range(1, 6)]
    assert view.figure().axes[0].lines[0].get_xdata() == [3.5, 3.5]


def test_shaded_words_have_the_sums_of_their_pieces():
    pieces = ["▁a", "▁play", "ing", "<0xE2>", "<0x98>", "<0x82>", "</s>", "", ""]
    weights = np.array([0.1, 0.2, 0.3, 0.05, 0.05, 0.1, 0.2, 0, 0], "float32")
    answer = {"weights": weights, "source": strings(*pieces)}
    view = ShadedText("weights", SOURCE, name="Weight").read(answer, {})
    assert view.words == ("a", "playing☂")
    np.testing.assert_allclose(view.weights, [0.1, 0.7], atol=1e-6)
    (part,) = check_page(view)
    assert part["weights"] == [0.1, 0.7] and not part["signed"]
    assert view.figure("good, 75.0 %").texts[len(view.words)].get_text() == "good, 75.0 %"


def test_contributions_to_a_label_have_two_colors():
    answer = {"gains": np.array([0.5, -2.5, 0.5, 3.0], "float32")}
    answer["source"] = strings("▁not", "▁fi", "ne", "</s>")
    view = ShadedText("gains", SOURCE, signed=True).read(answer, {})
    assert view.words == ("not", "fine") and view.quantity.signed
    np.testing.assert_allclose(view.weights, [0.5, -2.0])
    (part,) = check_page(view)
    assert part["weights"] == [0.5, -2.0] and part["signed"] and "logit" in part["unit"]
    figure = view.figure("good")
    (red, _, blue), (more_red, _, less_blue) = (box.get_facecolor()[:3] for box in figure.artists)
    assert blue > red and more_red > less_blue
    assert figure.axes[0].get_xlim() == (-2, 2)


def test_panels_of_words_have_one_scale_or_one_each():
    pieces, maps = strings("▁a", "▁dog", "."), np.zeros((1, 1, 3, 3, 7), "float32")
    maps[0, 0, :, 1, 2] = 0.2, 0.8, 1.0
    answer = {"weights": maps, "pieces": pieces}
    view = PictureMap("weights", Strings("pieces")).read(answer, {"image": PICTURE})
    assert view.steps == ("▁a", "▁dog")  # No panel for punctuation.
    each, every = (replace(view, scale=scale).figure("a dog.") for scale in ("each", "all"))
    a, dog = (np.asarray(axis.images[0].get_array()) for axis in every.axes[1:3])
    alone = [np.asarray(axis.images[0].get_array()) for axis in each.axes[1:3]]
    assert np.allclose(alone[0], alone[1]) and np.allclose(alone[1], dog)
    assert not np.allclose(a, dog)
    labels = [figure.axes[-1].get_ylabel() for figure in (each, every)]
    assert labels == ["attention, relative to the word's largest", "attention"]
    assert every.axes[-1].get_ylim() == pytest.approx((0, 0.8))
    with pytest.raises(ValueError, match="Expected scale in"):
        replace(view, scale="some")


def test_notes():
    note = Note("dropped", "{count} lines were not read", "a line was not read")
    said = {count: note.read({"dropped": np.int32(count)}) for count in (0, 1, 3)}
    assert said == {0: "", 1: "a line was not read", 3: "3 lines were not read"}
    assert note.read({}) == "" and note.value({"dropped": np.int32(3)}) == 3
    flag = Note("longer", "longer than in training")
    assert flag.read({"longer": np.int32(1)}) == "longer than in training"
    assert flag.value({"longer": np.int32(1)}) is True and flag.value({}) is False
    limit = Note("share", "only {value}", below=0.5)
    said = [limit.read({"share": np.float32(value)}) for value in (2.71e-5, 0.25, 0.5)]
    assert (
        said == ["only under 0.0001", "only 0.25", ""]
        and limit.read({}) == ""
        and limit.value({}) is None
    )
    assert limit.value({"share": np.float32(0.25)}) == 0.25
    with pytest.raises(ValueError, match="Expected a number as share"):
        limit.read({"share": np.array([0.25])})
    for wrong in ({"below": float("nan")}, {"below": 0.5, "singular": "one"}):
        with pytest.raises(ValueError, match="Expected a finite limit, and no singular with it"):
            Note("share", "only {value}", **wrong)


def axis_of(count):
    """An output with this many strings, and the axis that reads it."""
    return {"names": strings(*["x"] * count)}, Strings("names")


def two_axes(view, rows, columns):
    """The names of both axes, and the view of them."""
    answer = {"rows": strings(*["x"] * rows), "columns": strings(*["y"] * columns)}
    return answer, view("weights", rows=Strings("rows"), columns=Strings("columns"))


def tree_of(symbols, words):
    """A tree's names, and the view of it."""
    words = strings(*["x"] * (words - 1), END_PIECE)
    answer = {"symbols": strings(*["XX"] * symbols), "words": words, "tags": words[:-1]}
    return answer, Tree("weights", "symbols", "words", "tags")


def tracks_of(steps, name):
    """The names of steps, and the view in which this output has the weights that are tried."""
    answer, axis = axis_of(steps)
    other = {"weights", "read", "write"} - {name, "weights"}
    good = {key: shares(steps, 2, 5) for key in other}
    fields = {"write": "write", "read_from": "read"}
    fields = {key: "weights" if value == name else value for key, value in fields.items()}
    return {**answer, **good}, Tracks(**fields, steps=axis)


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        (two_axes(Matrix, 3, 5), (2, 5)),
        (two_axes(Matrix, 3, 5), (3, 2)),
        (two_axes(Matrix, 3, 5), (2, 3, 3)),
        (two_axes(Matrix, 3, 5), (5,)),
        (two_axes(Matrix, 3, 5), ()),
        (two_axes(Matrix, 3, 5), (1, 1, 3, 5)),
        (two_axes(Heads, 3, 5), (2, 7, 3, 3)),
        (two_axes(Heads, 3, 5), (2, 7, 2, 5)),
        (two_axes(Heads, 3, 5), (3, 5)),
        (two_axes(Heads, 3, 5), (5,)),
        ((axis_of(5)[0], PictureMap("weights", axis_of(5)[1])), (3, 7, 11)),
        ((axis_of(5)[0], PictureMap("weights", axis_of(5)[1])), (2, 3, 7, 11)),
        ((axis_of(5)[0], PictureMap("weights", axis_of(5)[1])), (7, 11)),
        (({}, PictureMap("weights")), (7,)),
        (({}, PictureMap("weights")), (3, 7, 11)),
        (({"grid": np.zeros((3, 7))}, PictureMap("weights", grid="grid")), (2, 3, 7)),
        ((axis_of(5)[0], ShadedText("weights", axis_of(5)[1])), (3,)),
        ((axis_of(5)[0], ShadedText("weights", axis_of(5)[1])), (1, 5)),
        (tree_of(5, 3), (1, 3, 3)),
        (tree_of(5, 3), (1, 5, 2)),
        (tree_of(5, 3), (5, 3)),
        (tracks_of(3, "write"), (2, 2, 5)),
        (tracks_of(3, "read"), (2, 2, 5)),
        (tracks_of(3, "read"), (3, 5)),
    ],
)
def test_weights_that_do_not_fit_the_names(declared, shape):
    answer, view = declared
    with pytest.raises(ValueError, match=r"^Expected .*\bweights\b.*Received: .*shape \("):
        view.read({**answer, "weights": np.zeros(shape, "float32")}, {"image": PICTURE})


@pytest.mark.parametrize(
    ("view", "name"),
    [
        (Matrix("names", Strings("names")), "names"),
        (Matrix("weights", Strings("weights")), "weights"),
        (Matrix("weights", Strings("scalar")), "scalar"),
        (Matrix("weights", Pieces("names", tokens="names")), "names"),
        (ShadedText("weights", Requested("facts", groups="names")), "names"),
    ],
)
def test_outputs_of_another_type(view, name):
    answer = {"names": strings("a", "b"), "weights": shares(2), "scalar": np.array(b"a", object)}
    with pytest.raises(ValueError, match=rf"^Expected .* as {name}. Received: .*shape"):
        view.read(answer, {"facts": ["a"]})


def padded(*names):
    """An answer of these strings and of as many weights, and its tokens; '' is padding."""
    tokens = np.array([PAD_ID if not name else 7 for name in names], "int32")
    return {"names": strings(*names), "weights": shares(len(names)), "tokens": tokens}


@pytest.mark.parametrize(
    ("view", "answer", "message"),
    [
        (Matrix("weights", Strings("names")), padded("a", "", "c"), "padding of names at its end"),
        (ShadedText("weights", Pieces("names")), padded("a", "", "c"), "padding of names at its"),
        (
            Matrix("weights", Pieces("names", tokens="tokens")),
            padded("a", "", "c"),
            "padding of tokens at its end",
        ),
        (
            Matrix("weights", Pieces("names", tokens="tokens")),
            {**padded("a", "b", "c"), "tokens": np.array([7, 7], "int32")},
            r"tokens for each of the 3 places .* shape \(2,\)",
        ),
        (
            Matrix("weights", Strings("names")),
            {**padded("a", "b"), "weights": shares(3)},
            r"names for each of the 3 places .* shape \(2,\)",
        ),
        (
            Tree("weights", "names", "names", "names"),
            {**padded("a", "b"), "weights": shares(1, 2, 2)},
            "as many names as names before the end",
        ),
        (
            ShadedText("weights", Strings("names")),
            {**padded("a", "b"), "weights": np.array([5.0, -5.0], "float32")},
            "weights between 0 and 1",
        ),
        (
            Matrix("weights", Strings("names")),
            {**padded("a", "b"), "weights": np.array([1e300, 0.0])},
            "finite numbers as weights",
        ),
        (
            Matrix("weights", Strings("names")),
            {**padded("a", "b"), "weights": np.array([1j, 0.0])},
            "numbers of 1 axes as weights",
        ),
        (
            Heads("weights", Strings("names"), Strings("names")),
            {**padded("a", "b"), "weights": np.zeros((0, 3, 2, 2), "float32")},
            "numbers of 4 axes as weights",
        ),
        (
            Matrix("weights", Strings("names")),
            {**padded("a", "b"), "names": np.zeros((0, 2), object)},
            "strings of 1 or 2 axes as names",
        ),
        (Matrix("weights", Requested("image")), padded("a", "b"), "several parts.*: a picture"),
        (PictureMap("map", image="text"), {"map": shares(2, 3)}, r"uint8 \(height.*as text"),
    ],
)
def test_answers_that_would_be_drawn_wrong(view, answer, message):
    with pytest.raises(ValueError, match=f"^Expected .*{message}"):
        view.read(answer, {"image": PICTURE, "text": "a text"})


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "matrix", "weights": "", "columns": {"kind": "strings", "output": "a"}},
        {"kind": "matrix", "weights": "w", "columns": {"kind": "strings", "output": ""}},
        {"kind": "matrix", "weights": "w", "columns": {"kind": "requested", "input": ""}},
        {"kind": "picture_map", "weights": "w", "image": ""},
        {"kind": "note", "output": "", "text": "a"},
    ],
    ids=str,
)
def test_names_that_are_empty(value):
    with pytest.raises(ValueError, match=r"^Expected a name as \w+ of a \w+. Received: an empty"):
        read_views([value])


@pytest.mark.parametrize(
    "views",
    [
        "abc",
        None,
        {"a": 1},
        Matrix("weights", Strings("words")),
        [Strings("words")],
        [Matrix("weights", "words")],
        [Matrix("weights", Strings("words"), name=None)],
        [Matrix("weights", Strings("words"), outlined=1)],
    ],
    ids=repr,
)
def test_views_that_could_not_be_read_again(views):
    with pytest.raises(ValueError, match=r"^Expected .*Received: "):
        checked_views(views)


def test_another_of_several_answers():
    answer = answer_of_pieces()
    answer["tokens"][1] = 11
    for view, asked in (
        (Matrix("weights", SOURCE, PIECES), {}),
        (PictureMap("maps", PIECES), {"image": PICTURE}),
    ):
        answer["maps"] = answer["weights"].reshape(2, 5, 1, 7)
        alone = {key: value[1:] if len(value) == 2 else value for key, value in answer.items()}
        second, expected = view.read(answer, asked, 1), view.read(alone, asked)
        first = view.read(answer, asked)
        np.testing.assert_array_equal(second.weights, expected.weights)
        names = "rows" if isinstance(view, Matrix) else "steps"
        assert getattr(second, names) == getattr(expected, names) != getattr(first, names)
    trees = {
        "symbols": np.stack([strings("(S", "XX", ")S"), strings("(NP", "XX", ")NP")]),
        "words": strings("dogs", END_PIECE),
        "tags": strings("NNS"),
        "weights": shares(2, 3, 2),
    }
    view = Tree("weights", "symbols", "words", "tags").read(trees, {}, 1)
    assert view.symbols == ("(NP", "XX", ")NP")
    np.testing.assert_array_equal(view.weights, trees["weights"][1])
