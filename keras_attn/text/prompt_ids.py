"""Prompts that answers begin with."""

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


def after_prompt(text: str, prompt: str) -> str:
    """What a text says after a prompt; all of it where it goes on in the prompt's last word.

    Example:
        >>> after_prompt("a photograph of a dog", "a photograph")
        'of a dog'
        >>> after_prompt("a photographer", "a photograph")
        'a photographer'
    """
    rest = text.removeprefix(prompt)
    return text if rest[:1].isalnum() else rest.strip()
