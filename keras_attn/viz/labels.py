"""Text as pictures can show it."""

from collections.abc import Sequence

from keras_attn.contracts import WORD_MARK

try:
    from matplotlib.font_manager import FontProperties, findfont, get_font
except ImportError as error:  # pragma: no cover - it comes with the extra
    raise ImportError(
        "Expected matplotlib. Install it: pip install 'keras-attn[pictures]'"
    ) from error


def drawable(text: str) -> str:
    """The text with □ for what matplotlib's font cannot show; $ is no mathematics."""
    known = get_font(findfont(FontProperties())).get_charmap()
    shown = "".join(character if ord(character) in known else "□" for character in text)
    return shown.replace("$", r"\$")


def word_groups(pieces: Sequence[str]) -> list[list[int]]:
    """Places of the pieces of each word.

    Example:
        >>> word_groups(["▁a", "▁play", "ing"])
        [[0], [1, 2]]
    """
    groups: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if piece.startswith(WORD_MARK) or not groups:
            groups.append([])
        groups[-1].append(index)
    return groups


def spelled(pieces: Sequence[str]) -> str:
    """The word that pieces make; those spelled in bytes (<0xE2>) are joined into characters."""
    data = b""
    for piece in pieces:
        is_byte = len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")
        data += bytes([int(piece[3:5], 16)]) if is_byte else piece.encode()
    return data.decode(errors="replace").replace(WORD_MARK, "")
