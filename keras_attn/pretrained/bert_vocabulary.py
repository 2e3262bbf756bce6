"""BERT's vocabulary, from tokenizer.json or from vocab.txt."""

from keras_attn.pretrained.files import read_settings
from keras_attn.pretrained.vocabulary_files import (
    WHOLE,
    added_tokens,
    check_tokenizer,
    checked_ids,
    file_of,
    names_of,
    object_in,
    special_ids,
)
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES
from keras_attn.text.word_piece_tokenizer import INSIDE, WordPieceTokenizer

VOCABULARY, UNKNOWN_NAME = "vocab.txt", "[UNK]"
_USUAL = ("[PAD]", UNKNOWN_NAME, "[CLS]", "[SEP]", "[MASK]")
_MODEL = {
    "type": ("WordPiece", None),
    "unk_token": (UNKNOWN_NAME,),
    "continuing_subword_prefix": (INSIDE,),
    "max_input_chars_per_word": (100,),
}
_NORMALIZER = {
    "type": ("BertNormalizer",),
    "clean_text": (True,),
    "handle_chinese_chars": (True,),
}
_DECODER = {"type": ("WordPiece",), "prefix": (INSIDE,), "cleanup": (True,)}


def pieces_of(checkpoint):
    """Ids of pieces, ids of special tokens, and whether texts are put in lower case.

    Raises:
        ValueError: missing or damaged files, or another kind of tokenizer.
    """
    if (checkpoint.folder / WHOLE).is_file():
        return _from_whole(checkpoint)
    lines = file_of(checkpoint, VOCABULARY).read_text(encoding="utf-8").split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    pieces = checked_ids(
        {line.rstrip("\r"): place for place, line in enumerate(lines)},
        checkpoint.folder / VOCABULARY,
    )
    settings = read_settings(checkpoint.folder / "tokenizer_config.json")
    lowercase = settings.get("do_lower_case", True)
    _check_accents(checkpoint, settings, lowercase)
    if settings.get("tokenize_chinese_chars", True) is not True:
        raise checkpoint.refusal("tokenize_chinese_chars=False in tokenizer_config.json")
    return pieces, special_ids(checkpoint, pieces, _USUAL), lowercase


def _from_whole(checkpoint):
    settings = read_settings(checkpoint.folder / WHOLE)
    model, normalizer = object_in(settings, "model"), object_in(settings, "normalizer")
    check_tokenizer(checkpoint, "model", model, _MODEL)
    check_tokenizer(checkpoint, "normalizer", normalizer, _NORMALIZER)
    cut = object_in(settings, "pre_tokenizer")
    check_tokenizer(checkpoint, "pre_tokenizer", cut, {"type": ("BertPreTokenizer",)})
    check_tokenizer(checkpoint, "decoder", object_in(settings, "decoder"), _DECODER)
    lowercase = normalizer.get("lowercase", True)
    _check_accents(checkpoint, normalizer, lowercase)
    pieces = checked_ids(object_in(model, "vocab"), checkpoint.folder / WHOLE)
    return pieces, added_tokens(checkpoint, settings), lowercase


def _check_accents(checkpoint, settings, lowercase):
    """Raises ValueError unless accents are taken off with capitals."""
    accents = settings.get("strip_accents")
    if not isinstance(lowercase, bool) or accents not in (None, lowercase):
        raise checkpoint.refusal(f"lowercase={lowercase!r:.80} with strip_accents={accents!r:.80}")


def word_pieces_of(checkpoint, pieces, special, lowercase, size, ids) -> WordPieceTokenizer:
    """The tokenizer of a checkpoint.

    Special tokens have no text: neither is one found in a text, nor shown in an answer.

    Args:
        checkpoint: `Checkpoint`.
        pieces, special, lowercase: as of `pieces_of`.
        size: int. Rows of the table of embeddings.
        ids: `SpecialFirst`.

    Raises:
        ValueError: ids outside the table.
    """
    names = names_of(checkpoint, {**pieces, **special}, size, "vocabulary")
    for place in special.values():
        names[place] = ""
    own = [names[row] for row in ids.rows[SPECIAL_PIECES:]]
    settings = read_settings(checkpoint.folder / "tokenizer_config.json")
    closes = settings.get("clean_up_tokenization_spaces", False)
    try:
        return WordPieceTokenizer(["", "", "", "", *own], lowercase, closes is True)
    except ValueError as error:
        raise checkpoint.refusal(f"a vocabulary that cannot be used: {error}") from error
