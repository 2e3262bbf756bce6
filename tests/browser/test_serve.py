"""The development server in a real browser: a text is asked, a photograph is dropped."""

from dataclasses import replace

import pytest

import keras_attn
from tests.serving.test_serve import running
from tests.serving.tiny_service import picture

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
serve = pytest.importorskip("keras_attn_pipelines.saved.serve", reason="needs the extra serve")
SECONDS = 300
"""The first answer takes long on a busy machine."""
pytestmark = pytest.mark.browser


def opened(browser, address):
    """A page of the server, and the errors on its console."""
    tab, errors = browser.new_page(), []
    tab.set_default_timeout(SECONDS * 1000)
    sync_api.expect.set_options(timeout=SECONDS * 1000)
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{address}/")
    return tab, errors


def test_a_text_is_asked(browser, tiny_text_export):
    saved = keras_attn.load(tiny_text_export)
    saved.takes = replace(saved.takes, example="five dogs")
    with running(serve.application(saved, "tiny")) as address:
        tab, errors = opened(browser, address)
        tab.get_by_label("A text").fill("one two ☂")
        tab.get_by_role("button", name="Ask").click()
        frame = tab.frame_locator("iframe")
        frame.get_by_role("button", name="two").first.hover()
        assert "two: " in frame.get_by_role("status").first.inner_text()
        assert errors == []
        tab.get_by_label("A text").fill(" ")
        tab.get_by_role("button", name="Ask").click()
        sync_api.expect(tab.locator("#said.error")).to_contain_text("an empty text")
        sync_api.expect(tab.locator("iframe")).to_have_count(0)
        tab.get_by_role("button", name="Try an example").click()
        sync_api.expect(frame.get_by_role("button", name="dogs").first).to_be_visible()
        tab.get_by_text("Model card").click()
        sync_api.expect(tab.locator("pre")).to_contain_text("card")


def test_a_photograph_is_dropped(browser, tiny_export, tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(picture(1))
    with running(serve.application(keras_attn.load(tiny_export), "tiny")) as address:
        tab, errors = opened(browser, address)
        tab.get_by_label("Drop or paste a photograph").set_input_files(path)
        frame = tab.frame_locator("iframe")
        sync_api.expect(frame.locator("canvas").first).to_be_visible()
        assert errors == []
        bad = tmp_path / "bad.png"
        bad.write_bytes(b"no picture")
        tab.get_by_label("Drop or paste a photograph").set_input_files(bad)
        sync_api.expect(tab.locator("#said")).not_to_have_text("")
        sync_api.expect(tab.locator("iframe")).to_have_count(0)
        tab.get_by_label("show what changes the answer").check()
        tab.get_by_role("button", name="Try an example").click()
        sync_api.expect(frame.get_by_text("What changes the answer")).to_be_visible()
        sync_api.expect(frame.locator("canvas").first).to_be_visible()
