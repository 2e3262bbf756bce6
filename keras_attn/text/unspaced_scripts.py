"""Scripts that put no spaces between words, and captions in them cut by character."""

import re
import unicodedata

from keras_attn.text.ptb_tokenizer import ptb_tokenize

HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HAN += "\U00020000-\U0003fffd"
KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
KANA += "\U0001b000-\U0001b16f"
SOUTHEAST = "\u0e00-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u1b00-\u1b7f\ua980-\ua9ff"
SOUTHEAST += "\uaa60-\uaadf"
"""Thai, Lao, Tibetan, Burmese, Khmer, the Tai scripts, Balinese and Javanese."""
UNSPACED = HAN + KANA + SOUTHEAST
"""The inside of a regular-expression class, as those before."""

_RUNS = re.compile(f"([{UNSPACED}]+)|[^{UNSPACED}]+")
_WIDE = 0x3000
"""From here on, punctuation marks are those of East Asia, which `ptb_tokenize` takes for words."""


def character_tokenize(text: str) -> list[str]:
    """The characters of a caption in a script without spaces; the words of what is in others.

    A character has its combining marks; punctuation is dropped. Other words are those of
    `ptb_tokenize`.

    Example:
        >>> character_tokenize("他有2件T恤。")
        ['他', '有', '2', '件', 't', '恤']
    """
    tokens: list[str] = []
    for run in _RUNS.finditer(text):
        if run[1] is None:
            spaced = "".join(" " if _is_wide_mark(sign) else sign for sign in run[0])
            tokens += ptb_tokenize(spaced)
        else:
            tokens += _characters(run[1])
    return tokens


def _characters(run):
    """Letters and digits with the combining marks that follow them."""
    characters: list[str] = []
    for sign in run:
        category = unicodedata.category(sign)[0]
        if category == "M" and characters:
            characters[-1] += sign
        elif category != "P":
            characters.append(sign)
    return characters


def _is_wide_mark(character):
    return ord(character) >= _WIDE and unicodedata.category(character)[0] == "P"
