"""`keras_attn.load`: answers, scores and pictures from Python."""

import io
import re

import numpy as np
import pytest
from PIL import Image

import keras_attn
from keras_attn.saved import bundled
from keras_attn.saved.inputs import check_fit
from tests.serving.tiny_service import picture


@pytest.fixture(scope="module")
def captioner(tiny_export):
    return keras_attn.load(tiny_export)


@pytest.fixture(scope="module")
def translator(tiny_text_export):
    return keras_attn.load(str(tiny_text_export.parent))


def test_pictures_as_paths_bytes_and_arrays_have_the_same_answer(captioner, tmp_path):
    data = picture(1)
    (tmp_path / "a.png").write_bytes(data)
    array = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    inputs = [tmp_path / "a.png", str(tmp_path / "a.png"), data, array]
    answers = captioner.predict(inputs, progress=False)
    assert len(answers) == 4 and len({answer.text for answer in answers}) == 1
    scores = [answer.score for answer in answers]
    np.testing.assert_allclose(scores, scores[0], atol=1e-6)
    best = answers[0]
    assert best.alternatives[0] == (best.text, best.score) and best.error == ""
    assert set(best.outputs) == {"text", "score", "error", "missing_rows", "familiarity"}
    assert "outputs" not in repr(best)


def test_what_cannot_be_answered_says_why_and_harms_no_other(captioner, capsys):
    good, missing, damaged = captioner.predict([picture(1), "none.png", b"x"], progress=True)
    assert good.error == "" and (missing.text, missing.error) == ("", "no such file")
    assert damaged.error and np.isnan(damaged.score)
    assert "\r" not in capsys.readouterr().err
    assert captioner.predict([]) == []


def test_a_score_is_the_sum_of_the_tokens_scores(translator, captioner):
    (answer,) = translator.ask("score", source=["one two"], target=["zwei"])
    assert translator.score("one two", "zwei") == pytest.approx(float(answer["score"]))
    assert captioner.score(picture(1), "a") < 0
    with pytest.raises(ValueError, match="'' and 'zwei': an empty text"):
        translator.score("", "zwei")


@pytest.mark.systems
def test_a_drawing_shows_itself_and_is_saved(translator, captioner, tmp_path):
    for drawing in (translator.explain("one two"), captioner.explain(picture(1))):
        assert drawing._repr_png_().startswith(b"\x89PNG")
        for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
            path = drawing.save(tmp_path / f"out{suffix}")
            assert path.read_bytes().startswith(start)
        with pytest.raises(ValueError, match=r"Expected a \.png, \.svg or \.pdf file"):
            drawing.save(tmp_path / "out.jpg")
    assert translator.explain("one two").data.columns[-1] == "</s>"


@pytest.mark.parametrize(
    "asked",
    ["a.png", b"a", None, 5, {"a.png": 1}, {"a.png"}, np.zeros((40, 60, 3), "uint8")],
    ids=lambda asked: type(asked).__name__,
)
def test_a_single_input_is_no_list(captioner, asked):
    with pytest.raises(ValueError, match=r"^Expected a list of inputs. Received: "):
        captioner.predict(asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (3, "Expected a path, the bytes of a picture, or uint8 .*Received: a int"),
        (None, "Expected a path, the bytes of a picture, or uint8 .*Received: a NoneType"),
        ([[1], [2, 3]], "Expected a path, the bytes of a picture, or uint8 "),
        (np.zeros((2, 3, 4), "uint8"), r"Received: a ndarray, uint8 of shape \(2, 3, 4\)"),
        (np.zeros((0, 5, 3), "uint8"), r"Received: a ndarray, uint8 of shape \(0, 5, 3\)"),
        (np.zeros((2, 3, 3)), "Received: a ndarray, float64"),
        ("", "no such file"),
        ("a\0b", "no such file"),
        ("x" * 300, "no such file"),
        (".", "a folder without pictures"),
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_an_input_of_another_kind_harms_no_other(captioner, asked, message):
    wrong, right = captioner.predict([asked, picture(1)], progress=False)
    assert re.search(message, wrong.error) and not right.error and right.alternatives
    for ask in (captioner.explain, captioner.explore, lambda one: captioner.score(one, "a")):
        with pytest.raises(ValueError, match=message):
            ask(asked)


@pytest.mark.parametrize("asked", ["a \ud800", None, 3, [b"a"]], ids=repr)
def test_a_text_of_another_kind_harms_no_other(translator, asked):
    wrong, right = translator.predict([asked, "one two"], progress=False)
    assert wrong.error.startswith("Expected a text") and not right.error and right.alternatives
    for ask in (translator.explain, translator.explore, lambda one: translator.score(one, "zwei")):
        with pytest.raises(ValueError, match=r"^Expected a text"):
            ask(asked)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"fit": "CROP"}, "Expected fit to be one of squash, crop"),
        ({"fit": 7}, "Expected fit to be one of squash, crop"),
        ({"resized_edge": 9}, "Expected two sides in pixels as image_size. Received: None"),
        (
            {"resized_edge": 9.5, "image_size": [5, 7]},
            "Expected an integer as resized_edge. Received: 9.5",
        ),
        (
            {"fit": "shortest_edge", "resized_edge": 6, "image_size": [5, 7]},
            "Expected resized_edge >= 7 for 5x7 by shortest_edge. Received: 6",
        ),
        ({"fit": "crop"}, "Expected two sides in pixels as image_size. Received: None"),
        *(
            ({"fit": "crop", "image_size": size}, "Expected two sides in pixels as image_size")
            for size in ([0, 0], [32, 0], [True, 7], [1], [1, 2, 3], "32x32", [1.5, 2.5], [-1, 5])
        ),
    ],
    ids=str,
)
def test_metadata_of_pictures(metadata, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check_fit(metadata)


def test_a_name_is_looked_up_in_the_checkout(tiny_text_export, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bundled, "BUNDLED", tiny_text_export.parent.parent)
    assert keras_attn.load("tiny").folder == tiny_text_export
    with pytest.raises(ValueError, match=r"Received: none, no such folder; .* unzip none\.zip"):
        keras_attn.load("none")
