"""Text from data or files, made harmless where it is shown: in Markdown, pages and terminals."""

import re
import shlex

_MARKUP = re.compile(r"[`*\[\]<>&\\|~$@#]|(?<!\w)_|_(?!\w)|:(?=//)")
_CONTROLS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x061C,  # Marks, embeddings, overrides and isolates that turn the direction of text.
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
_SHOWN = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS}
_IN_LINES = {code: shown for code, shown in _SHOWN.items() if chr(code) not in "\t\n"}
_IN_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS}
_IN_SCRIPTS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def escape_markdown(text: str) -> str:
    """A text as one line of Markdown that shows it, and is neither markup nor HTML.

    Example:
        >>> escape_markdown("<b>_a_ cat_1\\n")
        '&#60;b&#62;&#95;a&#95; cat_1'
    """
    line = " ".join(text.split()).translate(_SHOWN)
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", line)


def escape_html(markdown: str) -> str:
    """Markdown in which no HTML begins.

    Example:
        >>> escape_html("*a* <img>")
        '*a* &#60;img>'
    """
    return markdown.translate(_IN_LINES).replace("<", "&#60;")


def quote_command(text: str) -> str:
    """A text as an argument of a command in a Markdown code span.

    Example:
        >>> quote_command("my data")
        "'my data'"
    """
    return shlex.quote(text.translate(_SHOWN).replace("`", "?").replace("<", "?"))


def escape_script(text: str) -> str:
    """JSON that no browser takes for the end of a script, or for markup."""
    return text.translate(_IN_SCRIPTS)


def escape_json_line(text: str) -> str:
    """JSON on one line, in which such signs as `escape_terminal` spells out are escaped."""
    return text.translate(_IN_JSON)


def escape_terminal(text: str) -> str:
    """Lines without the signs that move the cursor, color or turn text, which are spelled out.

    Example:
        >>> escape_terminal("a\\x1b[31m b\\n")
        'a\\\\x1b[31m b\\n'
    """
    return text.translate(_IN_LINES)
