"""A prompt in a tokenizer's pieces."""

from keras_attn.contracts import UNKNOWN_ID


def prompt_ids(tokenizer, prompt: str, most: int | None = None) -> list[int]:
    """Ids of the pieces that every answer begins with.

    Args:
        tokenizer: `Tokenizer`, or another one.
        prompt: the words; "" for none.
        most: int. Maximum pieces of an answer, its end included; None: any number.

    Returns:
        list of ids, empty for "".

    Raises:
        ValueError: a prompt without pieces, with unknown ones, or with as many as an answer may
            have.

    Example:
        >>> from keras_attn.text import WordPieceTokenizer
        >>> names = ["[PAD]", "[UNK]", "[DEC]", "[SEP]", "dog", "a", "photo"]
        >>> prompt_ids(WordPieceTokenizer(names), "A photo")
        [5, 6]
    """
    if not prompt:
        return []
    (ids,) = tokenizer.encode_all([prompt])
    if not ids or UNKNOWN_ID in ids:
        kind = "unknown pieces" if ids else "no pieces"
        raise ValueError(f"Expected a prompt of known pieces. Received: {prompt!r:.80}, of {kind}")
    if most is not None and len(ids) >= most:
        raise ValueError(
            f"Expected a prompt of fewer than {most} pieces, the maximum of an answer with its "
            f"end. Received: {prompt!r:.80}, of {len(ids)}"
        )
    return ids
