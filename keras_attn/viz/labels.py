"""Text as pictures can show it."""

try:
    from matplotlib.font_manager import FontProperties, findfont, get_font
except ImportError as error:  # pragma: no cover - it comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error


def drawable(text: str) -> str:
    """The text with □ for what matplotlib's font cannot show; $ is no mathematics."""
    known = get_font(findfont(FontProperties())).get_charmap()
    shown = "".join(one if ord(one) in known else "□" for one in text)
    return shown.replace("$", r"\$")
