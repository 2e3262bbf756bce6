"""Occlusion: falls of stand-ins with a known answer, and the scores of labels."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from keras_attn.contracts import END_ID, ERROR, LABEL, SCORE
from keras_attn.evaluation.pointing import points_at
from keras_attn.images.picture_format import read_picture
from keras_attn.saved.inputs import picture_bytes
from keras_attn.saved.occlusion import CELLS, occlusion_view, parts_of, score_drops
from keras_attn.serving.requests import Requests
from keras_attn.viz.declared import PictureMap, Pieces
from keras_attn.viz.views import PictureView, ShadedView, TokenView

TEXT = {"two": ("zwei", 1.5), "dogs": ("hunde", 2.5)}
LEXICON = {"not": -2.0, "fine": 3.0, "dull": -1.0}
BOXES = {"red": (8, 40, 28, 60), "blue": (60, 10, 85, 35)}
SPOKEN = {
    "pieces": np.array([[piece.encode() for piece in ("▁zwei", "▁hun", "de", "▁.", "")]], object),
    "tokens": np.array([[7, 8, 9, 10, END_ID]]),
    "token_scores": np.zeros((1, 5), "float32"),
}


class StandIn(Requests):
    """Scores by a rule: `rule(request)` is a number, or one for each token."""

    def __init__(self, rule, scored):
        self.rule, self.scored, self.metadata = rule, scored, {}
        self.views = [PictureMap("weights", Pieces("pieces", tokens="tokens"))]

    def _answer(self, signature, chunk):
        assert signature == "score"
        rows = [dict(zip(chunk, values)) for values in zip(*chunk.values())]
        scores = np.array([self.rule(row) for row in rows], "float32")
        answer = {ERROR: [b""] * len(rows), SCORE: scores.reshape(len(rows), -1).sum(axis=1)}
        return {**answer, "token_scores": scores} if scores.ndim > 1 else answer


def translated(request):
    """Token scores: 0 while the word that a token translates is there."""
    words = request["source"].decode().split()
    fall = {word: 0.0 if source in words else -by for source, (word, by) in TEXT.items()}
    return [fall["zwei"], 0.4 * fall["hunde"], 0.6 * fall["hunde"], 0.0, 0.0]


def test_words_of_an_answer_fall_with_the_words_that_they_translate():
    fed = {"source": b"two big dogs"}
    view = occlusion_view(StandIn(translated, ("source", "target")), fed, SPOKEN, "zwei hunde .")
    assert isinstance(view, TokenView) and view.rows == ("zwei", "hunde")
    assert view.columns == ("two", "big", "dogs") and view.quantity.signed
    np.testing.assert_allclose(view.weights[0, 0], [[1.5, 0, 0], [0, 0, 2.5]], atol=1e-6)
    view.figure("zwei hunde .").canvas.draw()


def test_a_text_that_scoring_reads_in_other_tokens_is_one_word():
    spoken = {**SPOKEN, "token_scores": np.full((1, 5), -1.0, "float32")}
    saved = StandIn(translated, ("source", "target"))
    view = occlusion_view(saved, {"source": b"two dogs"}, spoken, "zwei hunde .")
    assert isinstance(view, ShadedView) and view.words == ("two", "dogs")
    np.testing.assert_allclose(view.weights, [1.5, 2.5], atol=1e-6)


def test_words_speak_for_a_label_or_against_it():
    saved = StandIn(lambda row: sum(LEXICON.get(w, 0) for w in row["source"].decode().split()),
                    ("source", "label"))  # fmt: skip
    view = occlusion_view(saved, {"source": "not a fine film, dull 映画".encode()}, {}, "good")
    assert isinstance(view, ShadedView)
    assert view.words == ("not", "a", "fine", "film,", "dull", "映", "画")
    np.testing.assert_allclose(view.weights, [-2, 0, 3, 0, -1, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("fed", "names", "key", "rest"),
    [
        ({"story": b"Mary left.\nJohn ate.", "question": b"Who?"}, 2, "story", b"\nJohn ate."),
        ({"facts": np.array([[b"a", b"b", b"c"], [b"d", b"e", b"f"]], object)}, 2, "facts",
         [[b"d", b"e", b"f"]]),
    ],
)  # fmt: skip
def test_sentences_and_facts_are_left_out_one_by_one(fed, names, key, rest):
    parts = parts_of(fed, key, {})
    assert len(parts.names) == len(parts.without) == names
    left = parts.without[0][key]
    assert (left.tolist() if key == "facts" else left) == rest
    assert all(part.keys() == fed.keys() for part in parts.without)


ALONE = ({"source": b"word"}, {"source": b" "}, {"story": b"x.", "question": b"y z?"})


@pytest.mark.parametrize("fed", ALONE)
def test_an_input_of_one_part(fed):
    with pytest.raises(ValueError, match=r"Expected an input of several parts. Received: [01] in"):
        parts_of(fed, next(iter(fed)), {})


def test_the_error_of_a_part_is_passed_on():
    class Refuses(StandIn):
        def _answer(self, signature, chunk):
            rows = len(chunk["source"])
            return {ERROR: [b""] + [b"too short"] * (rows - 1), SCORE: np.zeros(rows)}

    with pytest.raises(ValueError, match=r"that can be scored. Received: too short"):
        score_drops(
            Refuses(None, ("source", "label")), parts_of({"source": b"a b"}, "source", {}), "good"
        )


def colored(request):
    """Token scores of "red blue": how much of each drawn box still has its color."""
    pixels = read_picture(request["image"]).astype("int32")
    red = (pixels[..., 0] > 200) & (pixels[..., 2] < 60)
    blue = (pixels[..., 2] > 200) & (pixels[..., 0] < 60)
    return [0.01 * min(red.sum() - 441, 0), 0.01 * min(blue.sum() - 676, 0)]


def test_drawn_boxes_are_pointed_at():
    image = Image.new("RGB", (112, 96), (200, 200, 200))
    for color, box in BOXES.items():
        ImageDraw.Draw(image).rectangle(box, fill={"red": "#ff0000", "blue": "#0000ff"}[color])
    spoken = {
        "pieces": np.array([[b"\xe2\x96\x81red", b"\xe2\x96\x81blue"]], object),
        "tokens": np.array([[7, 8]]),
        "token_scores": np.zeros((1, 2), "float32"),
    }
    fed = {"image": picture_bytes(np.asarray(image))}
    view = occlusion_view(StandIn(colored, ("image", "caption")), fed, spoken, "red blue")
    assert isinstance(view, PictureView) and view.steps == ("red", "blue")
    assert view.weights.shape == (1, 1, 2, CELLS, CELLS) and view.scale == "all"
    for place, box in enumerate(BOXES.values()):
        assert points_at(view.weights[0, 0], (place, place + 1), box, (96, 112))
        covered = view.weights[0, 0, place] > 0
        assert 4 <= covered.sum() <= 25  # No region that does not touch the box.


def test_labels_have_scores(saved_named):
    saved = saved_named("text_labels")
    (answer,) = saved.predict(["one two three"])
    for label, share in answer.alternatives:
        assert np.exp(saved.score("one two three", label)) == pytest.approx(share, abs=1e-5)
    (refused,) = saved.ask("score", source=["one"], **{LABEL: ["no such label"]})
    assert refused[ERROR] == b"a label that the model does not have" and refused[SCORE] == 0
    for given, message in (({"by": "luck"}, "Expected by in"), ({"scale": "all"}, "only for pict")):
        with pytest.raises(ValueError, match=message):
            saved.explain("one two three", **given)
    with pytest.raises(ValueError, match="Expected neither heads nor a word by occlusion"):
        saved.explain("one two three", by="occlusion", word="two")
