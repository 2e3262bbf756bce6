"""The attention explorer in a real browser: mouse, keys, touch, themes; no request and no error."""

import numpy as np
import pytest

from keras_attn.viz.explorer import ExplorerPage
from keras_attn.viz.quantity import FALL
from keras_attn.viz.views import PictureView, SamplingView, ShadedView, TokenView
from tests.viz.test_explorer import EVIL, facts_in, sentence_page

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a page; at the end, nothing was requested and nothing went wrong."""
    contexts, troubles = [], []

    def open_page(page, **options):
        path = page.save(tmp_path / "page.html")
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: message.type == "error" and troubles.append(message.text))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("dialog", lambda dialog: troubles.append(dialog.message))
        tab.on("request", lambda request: troubles.append(request.url[:80]))
        tab.goto(path.as_uri())
        assert troubles.pop(0) == path.as_uri()[:80]
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in troubles if not text.startswith("data:image/")] == []


def shades(tab, group):
    """How strongly each word of a group is shaded."""
    return (
        tab.get_by_role("group", name=group, exact=True)
        .get_by_role("button")
        .evaluate_all(
            "words => words.map(word => { const color = getComputedStyle(word).backgroundColor;"
            " const parts = color.match(/[\\d.]+/g).map(Number);"
            " return parts.length > 3 ? parts[3] : 1; })"
        )
    )


def test_a_word_under_the_mouse_lights_its_partners(opened):
    tab = opened(sentence_page())
    tab.get_by_role("button", name="Hunde").hover()
    assert np.argmax(shades(tab, "source")) == 1
    assert "Hunde: dogs 0.80" in tab.get_by_role("status").inner_text()
    tab.get_by_role("button", name="Light / dark").hover()
    assert np.argmax(shades(tab, "source")) == 1  # The word stays chosen.
    tab.get_by_role("button", name="play").hover()
    assert np.argmax(shades(tab, "answer")) == 2


def test_keys_walk_through_the_words(opened):
    tab = opened(sentence_page())
    tab.get_by_role("button", name="Zwei").focus()
    for key, word in (("ArrowRight", "Hunde"), ("End", "spielen"), ("Home", "Zwei")):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.textContent") == word
        assert tab.get_by_role("status").inner_text().startswith(f"{word}: ")
    tab.keyboard.press("Escape")
    assert tab.get_by_role("status").inner_text() == ""


def test_a_touch_holds_a_word(opened):
    tab = opened(sentence_page(), has_touch=True, viewport={"width": 390, "height": 800})
    word = tab.get_by_role("button", name="Hunde")
    word.tap()
    assert word.get_attribute("aria-pressed") == "true"
    assert np.argmax(shades(tab, "source")) == 1
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_layers_heads_and_the_matrix(opened):
    weights = np.zeros((2, 3, 1, 2))
    weights[..., 0], weights[1, 2] = 1, [[0.19, 0.81]]
    view = TokenView("Heads", ["x"], ["a", "b"], weights)
    tab = opened(ExplorerPage("a b", [("x", -1.0)], [view]))
    tab.get_by_role("button", name="x", exact=True).click()
    assert "x: a 0.73, b 0.27" in tab.get_by_role("status").inner_text()
    tab.get_by_label("head", exact=True).select_option("head 3")
    assert "x: b 0.81, a 0.19" in tab.get_by_role("status").inner_text()
    tab.get_by_label("layer", exact=True).select_option("layer 1")
    assert tab.get_by_role("status").inner_text() == "x: a 1.00"
    assert tab.get_by_role("img").is_visible()
    tab.get_by_role("button", name="layer 2, head 3").click()
    assert "x: b 0.81, a 0.19" in tab.get_by_role("status").inner_text()
    assert tab.get_by_label("head", exact=True).input_value() == "3"


def test_an_answer_is_said_once_and_another_is_chosen_by_a_click(opened):
    first, other = (
        sentence_page().views[0],
        TokenView("Alignment", ["Ein", "Hund"], ["Two", "dogs"], np.eye(2)[None, None]),
    )
    answers = [("Zwei Hunde spielen", -1.25), ("Ein Hund", -2.5)]
    tab = opened(ExplorerPage("Two dogs play", answers, [first], other_views=[[other]]))
    heading = tab.get_by_role("heading", level=1)
    assert heading.inner_text() == "Zwei Hunde spielen" and heading.bounding_box()["width"] <= 1
    assert tab.get_by_role("status").inner_text().startswith("Zwei: Two 0.90")  # Lit at once.
    tab.get_by_role("button", name="2. Ein Hund").click()
    assert heading.inner_text() == "Ein Hund"
    assert tab.get_by_role("status").inner_text() == "Ein: Two 1.00"
    assert tab.get_by_role("button", name="1. Zwei Hunde spielen").is_visible()


def test_a_fall_has_two_colors(opened):
    view = TokenView("Falls", ["good"], ["not", "fine"], np.array([[[[-2.0, 1.0]]]]), quantity=FALL)
    tab = opened(ExplorerPage("not fine", [("good", 0.5)], [view], "probability"))
    assert tab.get_by_role("status").inner_text() == "good: not -2.00, fine 1.00"
    color = "word => getComputedStyle(word).backgroundColor"
    below, above = (
        tab.get_by_role("button", name=name, exact=True).evaluate(color) for name in ("not", "fine")
    )
    assert below.startswith("rgba(200, 60, 30") and above.startswith("rgba(31, 103, 209")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_themes_follow_the_browser_and_the_button(opened, scheme):
    tab = opened(sentence_page(), color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(ground) == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    tab.get_by_role("button", name="Light / dark").click()
    assert (tab.evaluate(ground) == "rgb(255, 255, 255)") != light


def test_pictures_are_lit_where_a_word_looked(opened):
    picture, weights = np.full((60, 80, 3), 90, "uint8"), np.zeros((1, 1, 2, 3, 4))
    weights[0, 0, 0, 0, 0] = weights[0, 0, 1, 2, 3] = 1
    view = PictureView("Where", picture, ["top", "end"], weights)
    tab = opened(ExplorerPage("x.png", [("top end", -1.0)], [view]))
    color = (
        "([x, y]) => [...document.querySelector('.stage canvas').getContext('2d')"
        ".getImageData(x, y, 1, 1).data].slice(0, 3)"
    )
    assert sum(tab.evaluate(color, [2, 2])) > 500  # A word is chosen at the start.
    tab.get_by_role("button", name="top").hover()
    assert sum(tab.evaluate(color, [2, 2])) > 500 > 270 > sum(tab.evaluate(color, [75, 55]))
    tab.get_by_role("button", name="end").hover()
    assert "end: most at the bottom right" in tab.get_by_role("status").inner_text()
    assert sum(tab.evaluate(color, [78, 58])) > 500
    tab.get_by_label("opacity of the map").fill("0")
    assert tab.evaluate(color, [78, 58]) == [90, 90, 90]
    tab.get_by_role("button", name="Play").click()
    assert "top: " in tab.get_by_role("status").inner_text()


def test_a_grid_of_heads_stands_beside_the_map_of_all(opened):
    picture, weights = np.full((60, 80, 3), 90, "uint8"), np.zeros((2, 3, 2, 3, 4))
    weights[..., 0, 0], weights[1, 2, :, 0, 0], weights[1, 2, :, 2, 3] = 1, 0, 1
    words = ["a", "dog"]
    views = [
        PictureView("Where", picture, words, weights[:1, :1]),
        PictureView("Heads", picture, words, weights),
    ]
    page = ExplorerPage("x.png", [("a dog.", -1.0)], views)
    tab = opened(page, viewport={"width": 1300, "height": 900})
    assert tab.locator("section").count() == 1 and len(facts_in(page.html())["pictures"]) == 1
    assert tab.get_by_role("img").bounding_box()["width"] > 600
    assert "a: most at the top left" in tab.get_by_role("status").inner_text()
    tab.get_by_role("button", name="layer 2, head 3").click()
    assert "a: most at the bottom right" in tab.get_by_role("status").inner_text()
    tab.get_by_role("button", name="all heads").click()
    assert "a: most at the top left" in tab.get_by_role("status").inner_text()


def test_shaded_words_and_sampling_grids(opened):
    words = ShadedView("Weights", ["a", "fine", "film"], np.array([0.1, 0.7, 0.2]))
    axis = np.linspace(-0.5, 0.5, 11)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    crop = np.zeros((11, 11, 3), "uint8")
    read = SamplingView("Read", np.zeros((40, 40, 3), "uint8"), grid, crop)
    tab = opened(ExplorerPage("x", [("good", 0.9)], [words, read], "probability"))
    assert np.argmax(shades(tab, "Weights")) == 1
    lit = "canvas => canvas.getContext('2d').getImageData(10, 20, 1, 1).data[0] > 100"
    canvas = tab.locator(".stage canvas")
    while not canvas.evaluate(lit):  # The picture has not been decoded yet.
        tab.wait_for_timeout(20)


def test_text_is_never_markup(opened):
    view = TokenView(EVIL, [EVIL], [EVIL, "שלום", "日本"], np.full((1, 1, 1, 3), 1 / 3))
    tab = opened(ExplorerPage(EVIL, [(EVIL, -1.0)], [view]))
    assert tab.get_by_role("heading", level=1).inner_text() == EVIL
    assert tab.evaluate("document.querySelectorAll('main script, main b').length") == 0
    tab.get_by_role("button", name="שלום").hover()


def test_a_page_has_few_elements_however_many_weights(opened):
    """Some for each word and each head: one for each of 1.9 million weights would never open."""
    random = np.random.default_rng(0)
    words = [f"w{place}" for place in range(100)]
    weights = random.dirichlet(np.ones(100), (8, 8, 100))
    views = [TokenView(name, words, words, weights) for name in ("one", "two", "three")]
    tab = opened(ExplorerPage("long", [("long", -1.0)], views))
    assert 600 < tab.evaluate("document.querySelectorAll('*').length") < 2000
    tab.get_by_role("button", name="w99").first.click()
    assert "w99: " in tab.get_by_role("status").first.inner_text()
