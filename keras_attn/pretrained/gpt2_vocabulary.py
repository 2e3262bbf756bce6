"""GPT-2's vocabulary and merges, from tokenizer.json or from vocab.json and merges.txt."""

import os

from keras_attn.pretrained.files import read_settings
from keras_attn.pretrained.vocabulary_files import checked_ids, file_of, ids_of, names_of
from keras_attn.text.byte_pair_tokenizer import BytePairTokenizer
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES

WHOLE, VOCABULARY, MERGES = "tokenizer.json", "vocab.json", "merges.txt"
_MODEL = {
    "type": ("BPE",),
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
    model, cut = _part(settings, "model"), _part(settings, "pre_tokenizer")
    _check(checkpoint, "model", model, _MODEL)
    _check(checkpoint, "pre_tokenizer", cut, _BYTES)
    _check(checkpoint, "decoder", _part(settings, "decoder"), {"type": ("ByteLevel",)})
    if settings.get("normalizer") is not None:
        raise checkpoint.refusal(f"a normalizer in {WHOLE}")
    pieces = checked_ids(_part(model, "vocab"), path)
    merges = [
        tuple(each.split(" ") if isinstance(each, str) else each)
        for each in model.get("merges") or []
    ]
    added = settings.get("added_tokens") or []
    if plain := [each.get("content") for each in added if not each.get("special")]:
        raise checkpoint.refusal(f"added tokens that are no special ones: {plain[:5]}")
    special = {each["content"]: each["id"] for each in added}
    return pieces, merges, special


def _from_parts(checkpoint):
    """Likewise of vocab.json, merges.txt and, where there are any, added_tokens.json."""
    pieces = ids_of(checkpoint, VOCABULARY)
    lines = file_of(checkpoint, MERGES).read_text(encoding="utf-8").split("\n")
    merges = [
        tuple(line.rstrip("\r").split(" "))
        for place, line in enumerate(lines)
        if line.strip() and not (place == 0 and line.startswith("#version"))
    ]
    special = dict(read_settings(checkpoint.folder / "added_tokens.json"))
    for name in _special_names(checkpoint):
        if name in pieces:
            special[name] = pieces[name]
    return pieces, merges, special


def _special_names(checkpoint):
    """Special tokens that the tokenizer's settings name."""
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        settings = read_settings(checkpoint.folder / file)
        for role in ("bos", "eos", "unk", "pad"):
            token = settings.get(f"{role}_token")
            token = token.get("content") if isinstance(token, dict) else token
            if isinstance(token, str):
                yield token


def _part(settings, name):
    """An object inside an object; {} where there is none."""
    part = settings.get(name)
    return part if isinstance(part, dict) else {}


def _check(checkpoint, what, settings, known):
    """Raises ValueError for another value than the known ones."""
    for name, values in known.items():
        if settings.get(name) not in values:
            raise checkpoint.refusal(
                f"{name}={settings.get(name)!r:.80} of the {what} in "
                f"{os.fspath(checkpoint.folder / WHOLE)}"
            )
