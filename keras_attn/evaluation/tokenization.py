"""How texts are cut for metrics of n-grams: by words, or by characters where no spaces are."""

import importlib.util
import re
from collections.abc import Iterable

from keras_attn.text.unspaced_scripts import HAN, KANA, UNSPACED

AUTO, WORDS, CHARACTERS, CHINESE, JAPANESE = "auto", "13a", "char", "zh", "ja-mecab"
PTB = "ptb"
TEXT_TOKENIZATIONS = (AUTO, WORDS, CHINESE, JAPANESE, CHARACTERS, "intl", "none")
"""What BLEU can be asked for: sacreBLEU's tokenizers that need no download."""
CAPTION_TOKENIZATIONS = (AUTO, PTB, CHARACTERS)
"""What captions' metrics can be asked for: `ptb_tokenize` or `character_tokenize`."""
_LEAST_KANA = 0.1
"""Least share of kana in Japanese; Chinese texts have a few in names."""
_WORD = re.compile(rf"[{UNSPACED}]|[^\W\d_{UNSPACED}]+")


def text_tokenization(references: Iterable[str], wanted: str = AUTO) -> str:
    """The sacreBLEU tokenizer for texts like some references.

    By the script of most words, where a letter of a script without spaces counts as one: "zh" for
    Chinese; for Japanese "ja-mecab" where MeCab and its dictionary are installed, otherwise "char";
    "char" for Thai and others without spaces between words; otherwise "13a". The same references
    give the same choice, in any order.

    Args:
        references: texts.
        wanted: one of `TEXT_TOKENIZATIONS`; all but "auto" are taken as they are.

    Raises:
        ValueError: an unknown tokenizer, or one that sacreBLEU would download.
        ImportError: "ja-mecab" without MeCab.

    Example:
        >>> text_tokenization(["两只狗在草地上。"]), text_tokenization(["Two dogs run."])
        ('zh', '13a')
    """
    if wanted not in TEXT_TOKENIZATIONS:
        raise ValueError(
            f"Expected a tokenizer that needs no download: {', '.join(TEXT_TOKENIZATIONS)}. "
            f"Received: {wanted!r:.80}"
        )
    if wanted == JAPANESE and not _has_mecab():
        raise ImportError(
            f"Expected MeCab for the tokenizer {JAPANESE}. Install it: pip install 'sacrebleu[ja]'"
        )
    if wanted != AUTO:
        return wanted
    script = _script(references)
    if script == KANA:
        return JAPANESE if _has_mecab() else CHARACTERS
    return {HAN: CHINESE, UNSPACED: CHARACTERS}.get(script, WORDS)


def caption_tokenization(references: Iterable[str], wanted: str = AUTO) -> str:
    """The tokenizer for captions like some references: "ptb", or "char" where no spaces are.

    Args:
        references: captions.
        wanted: one of `CAPTION_TOKENIZATIONS`; all but "auto" are taken as they are.

    Raises:
        ValueError: an unknown tokenizer.
    """
    if wanted not in CAPTION_TOKENIZATIONS:
        raise ValueError(
            f"Expected a tokenizer of {', '.join(CAPTION_TOKENIZATIONS)}. Received: {wanted!r:.80}"
        )
    if wanted != AUTO:
        return wanted
    return CHARACTERS if _script(references) else PTB


def _script(texts):
    """HAN, KANA or UNSPACED if most words are of scripts without spaces; otherwise ''."""
    words = [word for text in texts for word in _WORD.findall(text) if word.isalpha()]
    letters = "".join(words)
    counts = {script: len(re.findall(f"[{script}]", letters)) for script in (HAN, KANA, UNSPACED)}
    if 2 * counts[UNSPACED] <= len(words):
        return ""
    chinese_or_japanese = counts[HAN] + counts[KANA]
    if 2 * chinese_or_japanese <= counts[UNSPACED]:
        return UNSPACED
    return KANA if counts[KANA] >= _LEAST_KANA * chinese_or_japanese else HAN


def _has_mecab():
    return all(importlib.util.find_spec(name) for name in ("MeCab", "ipadic"))
