"""GPT-2's vocabulary and merges, from tokenizer.json or from vocab.json and merges.txt."""

from keras_attn.pretrained.files import read_settings
from keras_attn.pretrained.vocabulary_files import (
    WHOLE,
    added_tokens,
    check_tokenizer,
    checked_ids,
    ids_of,
    listed_merges,
    merges_of,
    names_of,
    object_in,
    special_ids,
)
from keras_attn.text.byte_pair_tokenizer import BytePairTokenizer
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES

VOCABULARY = "vocab.json"
_MODEL = {
    "type": ("BPE", None),
    "dropout": (None,),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
}
_BYTES = {"type": ("ByteLevel",), "add_prefix_space": (False,), "use_regex": (None, True)}


def byte_pairs_of(checkpoint, size, ids) -> BytePairTokenizer:
    """The tokenizer of a checkpoint.

    Special tokens have no text: neither is one found in a text, nor shown in an answer.

    Args:
        checkpoint: `Checkpoint`.
        size: int. Rows of the table of embeddings.
        ids: `SpecialFirst`.

    Raises:
        ValueError: missing or damaged files, another kind of tokenizer, or ids outside the table.
    """
    folder = checkpoint.folder
    if read_settings(folder / "tokenizer_config.json").get("add_prefix_space"):
        raise checkpoint.refusal("add_prefix_space=True in tokenizer_config.json")
    if (folder / WHOLE).is_file():
        pieces, merges, special = _from_whole(checkpoint)
    else:
        pieces, merges, special = _from_parts(checkpoint)
    names = names_of(checkpoint, {**pieces, **special}, size, "vocabulary")
    for place in special.values():
        names[place] = ""
    own = [names[row] for row in ids.rows[SPECIAL_PIECES:]]
    try:
        return BytePairTokenizer(["", "", "", "", *own], merges)
    except ValueError as error:
        raise checkpoint.refusal(f"a vocabulary that does not fit its merges: {error}") from error


def _from_whole(checkpoint):
    """Ids of pieces, merges, and ids of special tokens, of tokenizer.json."""
    path = checkpoint.folder / WHOLE
    settings = read_settings(path)
    model, cut = object_in(settings, "model"), object_in(settings, "pre_tokenizer")
    check_tokenizer(checkpoint, "model", model, _MODEL)
    check_tokenizer(checkpoint, "pre_tokenizer", cut, _BYTES)
    check_tokenizer(checkpoint, "decoder", object_in(settings, "decoder"), {"type": ("ByteLevel",)})
    if settings.get("normalizer") is not None:
        raise checkpoint.refusal(f"a normalizer in {WHOLE}")
    pieces = checked_ids(object_in(model, "vocab"), path)
    return pieces, listed_merges(checkpoint, model), added_tokens(checkpoint, settings)


def _from_parts(checkpoint):
    """Likewise of vocab.json, merges.txt and, where there are any, added_tokens.json."""
    pieces = ids_of(checkpoint, VOCABULARY)
    return pieces, merges_of(checkpoint), special_ids(checkpoint, pieces, ("<|endoftext|>",))
