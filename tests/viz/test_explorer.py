"""Pages of the attention explorer: what they hold, how large they are, what they let in."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from keras_attn.viz.explorer import ExplorerPage
from keras_attn.viz.page_parts import KEPT, packed
from keras_attn.viz.views import PictureView, TokenView

EVIL = "</script><b onmouseover=alert(1)>&\u2028<!--"


def sentence_page():
    """Three words that look at three."""
    weights = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
    view = TokenView(
        "Alignment", ["Zwei", "Hunde", "spielen"], ["Two", "dogs", "play"], weights[None, None]
    )
    answers = [("Zwei Hunde spielen", -1.25), ("Hunde spielen", -2.5)]
    return ExplorerPage("Two dogs play", answers, [view])


def facts_in(page):
    """What the script of a page reads."""
    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.DOTALL)[1])


def test_a_page_is_one_file_that_asks_nobody(tmp_path):
    page = sentence_page().save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|https?:|@import|url\(", page.replace('id="facts"', ""))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none';")
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "srcdoc=" in sentence_page()._repr_html_()


def test_text_stays_text():
    view = TokenView(EVIL, [EVIL], [EVIL], np.ones((1, 1, 1, 1)))
    page = ExplorerPage(EVIL, [(EVIL, -1.0)], [view]).html()
    assert page.count("</script>") == 2 and "<b onmouseover" not in page
    facts = facts_in(page)
    assert facts["asked"] == facts["answers"][0][0] == facts["views"][0]["rows"][0] == EVIL


def test_weights_are_kept_to_a_percent():
    weights = np.random.default_rng(3).dirichlet(np.ones(13), (2, 3, 5))
    values = np.frombuffer(base64.b64decode(packed(weights)["values"]), "uint8")
    np.testing.assert_allclose((values / 255.0) ** 2, weights.ravel(), atol=0.004)
    tiny = packed(np.full((1, 1, 1, 500), 0.002))["values"]
    values = np.frombuffer(base64.b64decode(tiny), "uint8")
    np.testing.assert_allclose((values / 255.0) ** 2, 0.002, rtol=0.1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.5])
def test_weights_that_are_none(bad):
    with pytest.raises(ValueError, match="Expected finite weights"):
        packed(np.array([[[[0.5, bad]]]]))


def test_a_hundred_words_in_eight_layers_of_eight_heads_are_under_five_megabytes():
    words = [f"w{place}" for place in range(100)]
    weights = np.full((8, 8, 100, 100), 0.01)
    views = [TokenView(name, words, words, weights) for name in ("one", "two", "three")]
    page = ExplorerPage("x", [("y", -1.0)], views).html()
    assert len(page.encode()) < 5e6


def test_an_answer_without_words_has_a_page():
    picture = np.zeros((5, 7, 3), "uint8")
    view = PictureView("empty", picture, [], np.zeros((2, 3, 0, 5, 7)))
    (shown,) = facts_in(ExplorerPage("x.png", [("", -1.0)], [view]).html())["views"]
    assert shown["steps"] == [] and shown["weights"] == {"largest": 1.0, "values": ""}


def test_of_long_rows_the_largest_weights_are_kept_and_the_page_says_so():
    weights = np.random.default_rng(3).dirichlet(np.full(500, 0.1), (1, 2, 7))
    view = TokenView("long", ["x"] * 7, ["y"] * 500, weights)
    (shown,) = view.parts()
    assert shown["note"] == "Of each row, the 20 largest weights are kept."
    places = np.frombuffer(base64.b64decode(shown["weights"]["places"]), "<u2")
    places = places.reshape(2, 7, KEPT)
    for head, row in np.ndindex(2, 7):
        largest = set(np.argsort(-weights[0, head, row])[:KEPT].tolist())
        assert set(places[head, row].tolist()) == largest
    (short,) = TokenView("short", ["x"], ["y"] * 150, weights[:, :, :1, :150]).parts()
    assert short["note"] == ""
