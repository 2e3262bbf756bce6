"""Why requests cannot be read."""

from keras_attn.lazy_tensorflow import tf

MOST_BYTES = 2**16
"""Maximum size of a text in bytes."""
EMPTY = "an empty text"
NOT_UTF8 = "not UTF-8"


def text_reasons(texts):
    """Why texts, string (B,), cannot be tokenized, or '': string (B,)."""
    sizes = tf.strings.length(texts)
    same = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace") == texts
    limit = f" bytes (expected at most {MOST_BYTES})"
    large = tf.strings.join([tf.strings.as_string(sizes), limit])
    return first_reason(tf.where(sizes > MOST_BYTES, large, ""), tf.where(same, "", NOT_UTF8))


def too_long(name, counts, most, unit="pieces, its end included"):
    """string (B,): error for texts of more than `most` pieces, '' for others.

    Args:
        name: name of the texts in messages, such as "a caption".
        counts: int32 (B,).
        most: int.
        unit: name of what is counted.
    """
    limit = f" {unit} (expected at most {most})"
    reasons = tf.strings.join([f"{name} of ", tf.strings.as_string(counts), limit])
    return tf.where(counts <= most, "", reasons)


def first_reason(*reasons):
    """string (B,): the first nonempty one of several such tensors, elementwise."""
    first_reason = reasons[-1]
    for reason in reversed(reasons[:-1]):
        first_reason = tf.where(reason != "", reason, first_reason)
    return first_reason
