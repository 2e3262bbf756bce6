"""Sentences as lower-case words, in the graph."""

from keras_attn.lazy_tensorflow import tf

MARKS = r"[.,;:!?\"()]+(\s|$)|(^|\s)[\"(]+"
"""Regular expression of punctuation around a word."""


def plain_words(sentences):
    """Lower-case words with one space between them, without the punctuation around them.

    Marks inside a word, as in "football,milk", stay.

    Args:
        sentences: string (...), UTF-8.

    Returns:
        string (...).

    Example:
        >>> plain_words("John went to the  kitchen, didn't he?").numpy()
        b"john went to the kitchen didn't he"
    """
    lowered = tf.strings.lower(sentences, encoding="utf-8")
    words = tf.strings.regex_replace(lowered, MARKS, " ")
    return tf.strings.strip(tf.strings.regex_replace(words, r"\s+", " "))
