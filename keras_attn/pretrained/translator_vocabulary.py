"""The vocabularies of encoder-decoder checkpoints, with this project's special ids first."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sentencepiece

from keras_attn.contracts import PAD_ID, START_ID
from keras_attn.native_log import hidden_native_log
from keras_attn.pretrained.files import read_settings
from keras_attn.pretrained.plain_yaml import parse_yaml
from keras_attn.pretrained.translator_sizes import M2M, MARIAN, MBART, MT5, T5
from keras_attn.pretrained.vocabulary_files import (
    check_ids,
    checked_ids,
    file_of,
    ids_of,
    names_of,
    special_id,
)
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer
from keras_attn.untrusted import naming_damage

SILENT = -100.0
"""Bias of the logit of an id that the checkpoint does not have a second time: its probability is
nothing, and label smoothing, which asks for a little of every id, still has a usual loss."""
UNKNOWN_NAME, END_NAME, PAD_NAME = "<unk>", "</s>", "<pad>"
BPE_MODEL, T5_MODEL = "sentencepiece.bpe.model", "spiece.model"
FAIRSEQ = ("<s>", PAD_NAME, END_NAME, UNKNOWN_NAME)
"""Names of the first ids of fairseq, which mBART and NLLB keep; a SentencePiece model has three
others there, so that its pieces stand one id higher."""


@dataclass(frozen=True)
class Vocabulary:
    """The ids of one side of a checkpoint.

    Attributes:
        names: the piece of each id of the checkpoint; "" for an id that no text has.
        pad, unknown, start, end: ids of the checkpoint with these roles; `start` begins the
            decoder's input.
        model: bytes of the SentencePiece model.
        prefix: pieces before each text.
        hidden: pieces that are left out of answers.
        codes: whether sources may begin with the code of a language.
        never: ids of the checkpoint that no answer has.
    """

    names: Sequence[str]
    pad: int
    unknown: int
    start: int
    end: int
    model: bytes
    prefix: Sequence[str] = ()
    hidden: Sequence[str] = ()
    codes: bool = False
    never: Sequence[int] = ()
    rows: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        special = [self.pad, self.unknown, self.start, self.end]
        apart = {self.pad, self.unknown, self.end}
        rest = [place for place in range(len(self.names)) if place not in apart]
        object.__setattr__(self, "rows", np.array([*special, *rest]))

    @property
    def repeated(self) -> int:
        """The special id here whose id in the checkpoint stands elsewhere, too: PAD_ID where the
        decoder's input begins with padding, as in Marian and T5, else START_ID."""
        return PAD_ID if self.start == self.pad else START_ID

    def tokenizer(self) -> PretrainedTokenizer:
        """The tokenizer of the ids here.

        Raises:
            ValueError: a damaged model.
        """
        names = ["", UNKNOWN_NAME, "", "", *(self.names[row] for row in self.rows[SPECIAL_PIECES:])]
        places = {int(row): place for place, row in reversed(list(enumerate(self.rows)))}
        never = sorted(places[token] for token in self.never)
        return PretrainedTokenizer(self.model, names, self.prefix, self.hidden, self.codes, never)


def vocabularies_of(checkpoint, sizes, source_language=None, target_language=None):
    """The vocabularies of sources and of targets.

    Args:
        checkpoint: `Checkpoint`.
        sizes: dict of "source" and "target" to the rows of their tables.
        source_language: str or None. Code of a multilingual model, such as "eng_Latn".
        target_language: likewise.

    Raises:
        ValueError: missing or damaged files, ids outside the tables, unknown languages.
    """
    kind = checkpoint.settings["model_type"]
    sides = _READERS[kind](checkpoint, sizes, source_language, target_language)
    banned = _banned(checkpoint, sizes["target"])
    return {**sides, "target": replace(sides["target"], never=banned)}


def _banned(checkpoint, size) -> list[int]:
    """Ids that are never produced; padding never is."""
    listed = checkpoint.search("bad_words_ids", [])
    if not isinstance(listed, list) or not all(
        isinstance(word, list) and len(word) == 1 and type(word[0]) is int and 0 <= word[0] < size
        for word in listed
    ):
        raise checkpoint.refusal(f"bad_words_ids that are not single ids: {listed!r:.80}")
    return [word[0] for word in listed if word[0] != checkpoint.settings.get("pad_token_id")]


def _marian(checkpoint, sizes, source_language, target_language):
    _no_languages(source_language, target_language)
    sides, start = {}, checkpoint.setting("decoder_start_token_id", int)
    own = read_settings(checkpoint.folder / "tokenizer_config.json").get("separate_vocabs")
    files = {"source": "vocab.json", "target": "target_vocab.json" if own else "vocab.json"}
    for side, name in files.items():
        ids, size = _marian_ids(checkpoint, name), sizes[side]
        pad = ids.get(PAD_NAME, checkpoint.setting("pad_token_id", int))
        end, unknown = (
            special_id(checkpoint, ids, each, name) for each in (END_NAME, UNKNOWN_NAME)
        )
        check_ids(checkpoint, size, pad_token_id=pad, decoder_start_token_id=start)
        if side == "target" and end != checkpoint.setting("eos_token_id", int):
            raise checkpoint.refusal(f"eos_token_id other than {END_NAME} of {name}")
        sides[side] = Vocabulary(
            names_of(checkpoint, ids, size, name),
            pad,
            unknown,
            start if side == "target" else pad,
            end,
            file_of(checkpoint, f"{side}.spm").read_bytes(),
            codes=side == "source" and any(key.startswith(">>") for key in ids),
        )
    return sides


def _marian_ids(checkpoint, name):
    """The ids of pieces: of a JSON file, or of the YAML beside Marian's own weights."""
    if checkpoint.path.suffix != ".npz":
        return ids_of(checkpoint, name)
    found = sorted(checkpoint.folder.glob("*vocab.yml"))
    if len(found) != 1:
        raise ValueError(
            f"Expected one *.vocab.yml in {os.fspath(checkpoint.folder)!r}. "
            f"Received: {[path.name for path in found]}"
        )
    with naming_damage(f"ids of pieces in {os.fspath(found[0])!r}"):
        entries = parse_yaml(found[0].read_text(encoding="utf-8"))
        ids = {piece: int(place) for piece, place in entries.items()}
    return checked_ids(ids, found[0])


def _no_languages(*languages):
    if given := [language for language in languages if language]:
        raise ValueError(
            "Expected no languages for a model of one pair, or whose sources begin with a code "
            f"such as >>fra<<. Received: {', '.join(given)}"
        )


def _t5(checkpoint, sizes, source_language, target_language):
    _no_languages(source_language, target_language)
    model = file_of(checkpoint, T5_MODEL).read_bytes()
    pieces, size = _model_pieces(checkpoint, model), sizes["target"]
    ids = {name: place for place, name in enumerate(pieces)}
    names = names_of(checkpoint, ids, size, T5_MODEL)
    vocabulary = Vocabulary(
        names,
        checkpoint.setting("pad_token_id", int, 0),
        special_id(checkpoint, ids, UNKNOWN_NAME, T5_MODEL),
        checkpoint.setting("decoder_start_token_id", int, 0),
        checkpoint.setting("eos_token_id", int, 1),
        model,
    )
    check_ids(
        checkpoint,
        size,
        pad_token_id=vocabulary.pad,
        decoder_start_token_id=vocabulary.start,
        eos_token_id=vocabulary.end,
    )
    return {"source": vocabulary, "target": vocabulary}


def _model_pieces(checkpoint, model) -> list[str]:
    with (
        naming_damage(f"a SentencePiece model in {os.fspath(checkpoint.folder)!r}"),
        hidden_native_log(),
    ):
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        return [processor.id_to_piece(place) for place in range(processor.vocab_size())]


def _multilingual(checkpoint, sizes, source_language, target_language):
    """M2M-100, NLLB and mBART-50: a token of the language before each text."""
    size, model = sizes["target"], file_of(checkpoint, BPE_MODEL).read_bytes()
    if (checkpoint.folder / "vocab.json").is_file():
        ids = ids_of(checkpoint, "vocab.json")
    else:
        pieces = _model_pieces(checkpoint, model)[3:]
        ids = {name: place for place, name in enumerate((*FAIRSEQ, *pieces))}
    codes = _language_codes(checkpoint, ids, size)
    given = {"source": source_language, "target": target_language}
    chosen = {side: _language(side, name, codes) for side, name in given.items()}
    end, start = (
        checkpoint.setting("eos_token_id", int),
        checkpoint.setting("decoder_start_token_id", int),
    )
    if start != end:
        raise checkpoint.refusal(
            f"decoder_start_token_id={start}: answers that begin with their language itself, as of "
            "the first mBART"
        )
    ids |= {name: place for name, place in codes.items() if name not in ids}
    names = names_of(checkpoint, ids, size, "vocabulary")
    pad, unknown = (
        special_id(checkpoint, ids, each, "vocabulary") for each in (PAD_NAME, UNKNOWN_NAME)
    )
    check_ids(checkpoint, size, eos_token_id=end)
    return {
        side: Vocabulary(names, pad, unknown, start, end, model, (name,), tuple(codes))
        for side, name in chosen.items()
    }


def _language_codes(checkpoint, ids, size) -> dict[str, int]:
    """Ids of the tokens of languages, in the order of the tokenizer's settings."""
    named: Any = None
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        settings = read_settings(checkpoint.folder / file)
        for key in ("additional_special_tokens", "extra_special_tokens"):
            named = named or settings.get(key)
    listed = named if isinstance(named, list) else []
    tokens = [each.get("content") if isinstance(each, dict) else each for each in listed]
    codes: list[Any] = [token for token in tokens if token not in (*FAIRSEQ, "<mask>")]
    if not codes or not all(isinstance(code, str) for code in codes):
        raise ValueError(
            "Expected the tokens of languages as additional_special_tokens in "
            f"special_tokens_map.json of {os.fspath(checkpoint.folder)!r}. "
            f"Received: {named!r:.80}"
        )
    known = max(ids.values()) + 1
    places = {code: ids.get(code, known + place) for place, code in enumerate(codes)}
    if max(places.values()) >= size:
        raise ValueError(
            f"Expected at most {size - known} languages beside {known} pieces in "
            f"{os.fspath(checkpoint.folder)!r}. Received: {len(codes)}"
        )
    return places


def _language(side, name, codes):
    """The token of a language, given with or without the underscores around it."""
    wanted = (name, f"__{name}__")
    if name and (found := [code for code in codes if code in wanted]):
        return found[0]
    shown = ", ".join(code.strip("_") for code in list(codes)[:200])
    raise ValueError(f"Expected {side}_language, one of {shown}. Received: {name!r}")


_READERS = {
    MARIAN: _marian,
    M2M: _multilingual,
    MBART: _multilingual,
    T5: _t5,
    MT5: _t5,
}
