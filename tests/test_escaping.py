"""Text from data is shown, and is neither markup nor a terminal's command."""

import html
import json
import re
import shlex

import pytest

from keras_attn.escaping import (
    escape_html,
    escape_json_line,
    escape_markdown,
    escape_script,
    escape_terminal,
    quote_command,
)

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!-- --><b>",
    "`code` ```",
    "![x](http://e.org/x.png) [y](javascript:z) https://e.org",
    "*a* **b** _c_ ~~d~~ a_b",
    "| a | b |",
    "\n# heading\n\n---\n",
    "$x$ @user \\alpha &lt;",
    "\x1b[31mred\x1b[0m\x07\r\b\x9b1m",
    "\u202eabc\u2066d\u2028e\u200f",
)
SIGNS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_a_text_and_nothing_else(text):
    line = escape_markdown(text)
    assert "\n" not in line and not SIGNS.search(line)
    assert not re.search(r"[`*\[\]<>\\|~$@]|://|&(?!#\d+;)", line)
    if not SIGNS.search(text):
        assert html.unescape(html.unescape(line)) == html.unescape(" ".join(text.split()))


@pytest.mark.parametrize("text", HOSTILE)
def test_other_places(text):
    assert "<" not in escape_html(text) and not SIGNS.search(escape_html(text))
    assert (
        not re.search(r"[`<\n]", quote_command(text)) and len(shlex.split(quote_command(text))) == 1
    )
    assert not SIGNS.search(escape_terminal(text)) and escape_terminal("a\tb\n") == "a\tb\n"
    line = json.dumps({"a": text}, ensure_ascii=False)
    for escaped in (escape_json_line(line), escape_script(line)):
        assert json.loads(escaped) == {"a": text}
    assert not SIGNS.search(escape_json_line(line)) and "<" not in escape_script(line)
