"""Detokenization: sentences from words and punctuation with spaces between them, and back."""

import re
from collections.abc import Iterable

_AFTER = r"[.,!?;:…)\]}%]|n't|'(?:s|m|d|ll|re|ve)"
RULES = (
    *[(rf"(?i) ({_AFTER})( |$)", r"\1\2")] * 2,  # Twice: two in a row share a space.
    (r"(^| )([(\[{]) ", r"\1\2"),
    (r"""(^| )(?:``|") ([^"`]*) (?:''|")( |[.,!?;:]|$)""", r'\1"\2"\3'),
)
"""Patterns that are replaced, and by what, for Python and RE2."""
SPLITS = (*[(r"(?i)([^ ])([.,!?;:…)\]}%]|n't|'(?:s|m|d|ll|re|ve))( |$)", r"\1 \2\3")] * 2,)
"""Inverse of RULES for all but quotes and opening brackets."""
_SPACED, _JOINED = re.compile(r" [.,](?: |$)"), re.compile(r"[^ .,][.,](?: |$)")


def are_spaced(texts: Iterable[str]) -> bool:
    """Whether texts have spaces before most of their periods and commas, as tokenized ones do."""
    spaced = joined = 0
    for text in texts:
        spaced += len(_SPACED.findall(text))
        joined += len(_JOINED.findall(text))
    return spaced > joined


def detokenized(text: str) -> str:
    """A text with spaces before its periods or commas as a sentence; any other as it is.

    Example:
        >>> detokenized("a man , who is n't old , on a skateboard .")
        "a man, who isn't old, on a skateboard."
        >>> detokenized("Bonjour !")
        'Bonjour !'
    """
    return _replaced(text, RULES) if are_spaced([text]) else text


def spaced(text: str) -> str:
    """A sentence as a tokenized text, see `detokenized`.

    Example:
        >>> spaced("a man, on a skateboard.")
        'a man , on a skateboard .'
    """
    return _replaced(text, SPLITS)


def detokenize(texts):
    """String (...) to string (...): `detokenized` of texts that are known to be spaced."""
    return _replaced_in_graph(texts, RULES)


def space(texts):
    """String (...) to string (...): `spaced` in the graph."""
    return _replaced_in_graph(texts, SPLITS)


def _replaced(text, rules):
    for pattern, replacement in rules:
        text = re.sub(pattern, replacement, text)
    return text


def _replaced_in_graph(texts, rules):
    import tensorflow as tf

    for pattern, replacement in rules:
        texts = tf.strings.regex_replace(texts, pattern, replacement)
    return texts
