"""CLIP's vocabulary and merges, from tokenizer.json or from vocab.json and merges.txt."""

from keras_attn.pretrained.captioner_parts import SpecialFirst
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
    special_id,
    special_ids,
)
from keras_attn.text.byte_pairs import byte_alphabet
from keras_attn.text.clip_tokenizer import END_OF_WORD, ClipTokenizer
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES

VOCABULARY, TOKENIZER_SETTINGS = "vocab.json", "tokenizer_config.json"
_START, _END = "<|startoftext|>", "<|endoftext|>"
_MODEL = {
    "type": ("BPE", None),
    "dropout": (None,),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (END_OF_WORD,),
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
}
_SPACES = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
_NORMALIZER = {
    "type": ("Sequence",),
    "normalizers": ([{"type": "NFC"}, _SPACES, {"type": "Lowercase"}],),
}
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_EXPRESSIONS = (_WORDS, rf"<\|startoftext\|>|<\|endoftext\|>|{_WORDS}")
_SPLIT = {
    "type": ("Split",),
    "pattern": tuple({"Regex": expression} for expression in _EXPRESSIONS),
    "behavior": ("Removed",),
    "invert": (True,),
}
_BYTES = {"type": ("ByteLevel",), "add_prefix_space": (False,)}
_SIDES = {"padding_side": (None, "right"), "truncation_side": (None, "right")}


def clip_words_of(checkpoint, size) -> tuple[ClipTokenizer, SpecialFirst]:
    """The tokenizer of a checkpoint, and its ids in this project's order.

    Args:
        checkpoint: `Checkpoint`.
        size: int. Rows of the table of embeddings.

    Raises:
        ValueError: missing or damaged files, another kind of tokenizer, or ids outside the table.
    """
    read = _from_whole if (checkpoint.folder / WHOLE).is_file() else _from_parts
    pieces, merges, special = read(checkpoint)
    ids, roles = {**pieces, **special}, _roles(checkpoint)
    start, end, pad = (special_id(checkpoint, ids, name, "vocabulary") for name in roles)
    special |= dict(zip(roles, (start, end, pad)))
    signs = [*byte_alphabet()]
    if texts := sorted({*special} & {*signs, *(sign + END_OF_WORD for sign in signs)}):
        raise checkpoint.refusal(f"special tokens that are signs of texts: {texts}")
    names = names_of(checkpoint, ids, size, "vocabulary")
    for place in special.values():
        names[place] = ""
    order = SpecialFirst.of(size, pad, end, start, end)
    own = [names[row] for row in order.rows[SPECIAL_PIECES:]]
    try:
        return ClipTokenizer(["", "", "", "", *own], merges), order
    except ValueError as error:
        raise checkpoint.refusal(f"a vocabulary that does not fit its merges: {error}") from error


def _roles(checkpoint):
    """Names of the tokens that begin, end and pad texts."""
    names = {"bos": _START, "eos": _END, "pad": _END}
    for file in ("special_tokens_map.json", TOKENIZER_SETTINGS):
        settings = read_settings(checkpoint.folder / file)
        for role in names:
            token = settings.get(f"{role}_token")
            token = token.get("content") if isinstance(token, dict) else token
            names[role] = token if isinstance(token, str) else names[role]
    settings = read_settings(checkpoint.folder / TOKENIZER_SETTINGS)
    for name, known in _SIDES.items():
        if settings.get(name) not in known:
            raise checkpoint.refusal(f"{name}={settings[name]!r:.80} in {TOKENIZER_SETTINGS}")
    return tuple(names.values())


def _from_whole(checkpoint):
    """Ids of pieces, merges, and ids of special tokens, of tokenizer.json."""
    path = checkpoint.folder / WHOLE
    settings = read_settings(path)
    model, ends = object_in(settings, "model"), object_in(settings, "post_processor")
    check_tokenizer(checkpoint, "model", model, _MODEL)
    check_tokenizer(checkpoint, "normalizer", object_in(settings, "normalizer"), _NORMALIZER)
    cuts = object_in(settings, "pre_tokenizer").get("pretokenizers")
    if not isinstance(cuts, list) or len(cuts) != 2 or not all(isinstance(c, dict) for c in cuts):
        raise checkpoint.refusal(f"a pre_tokenizer that is not CLIP's in {WHOLE}")
    for cut, known in zip(cuts, (_SPLIT, _BYTES)):
        check_tokenizer(checkpoint, "pre_tokenizer", cut, known)
    pieces = checked_ids(object_in(model, "vocab"), path)
    special = added_tokens(checkpoint, settings)
    ids, (start, end, _) = {**pieces, **special}, _roles(checkpoint)
    known = {name: ([token, ids.get(token)],) for name, token in (("cls", start), ("sep", end))}
    check_tokenizer(checkpoint, "post_processor", ends, {"type": ("RobertaProcessing",), **known})
    return pieces, listed_merges(checkpoint, model), special


def _from_parts(checkpoint):
    """Likewise of vocab.json, merges.txt and, where there are any, added_tokens.json."""
    pieces = ids_of(checkpoint, VOCABULARY)
    return pieces, merges_of(checkpoint), special_ids(checkpoint, pieces, (_START, _END))
