"""A real browser, and the models that it looks at."""

import shutil

import pytest

from tests.serving.conftest import (  # noqa: F401  (fixtures)
    service_named,
    tiny_export,
    tiny_text_export,
    version_named,
)

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    if CHROMIUM is None:
        pytest.skip("needs Debian's package chromium")
    with sync_api.sync_playwright() as program:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
