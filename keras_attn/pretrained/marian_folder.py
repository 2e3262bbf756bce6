"""Transformers of this project as folders of Marian, for transformers and CTranslate2."""

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import sentencepiece

from keras_attn.contracts import END_ID, PAD_ID, START_ID, UNKNOWN_ID
from keras_attn.extras import extra
from keras_attn.layers.feed_forward import GELU, GELU_TANH, RELU
from keras_attn.models.transformer.transformer_config import ALL, NOTHING, SINUSOIDAL
from keras_attn.native_log import hidden_native_log
from keras_attn.pretrained.translator_tensors import (
    BIAS,
    HEAD,
    READ,
    SHARED,
    TABLES,
    UNITS,
    WRITTEN,
    alternating,
    bart_block,
    weights_of,
)
from keras_attn.pretrained.translator_vocabulary import END_NAME, PAD_NAME, SILENT, UNKNOWN_NAME
from keras_attn.text.piece_tokenizer import SPECIAL_PIECES
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer
from keras_attn.whole_file import made_folder, move_folder, whole_folder

_NORMALIZER = 3 << 3 | 2
"""Tag of the normalizer in the protocol buffer of a SentencePiece model; all others are of the same
kind, with their size."""
_ONE_SPACE = bytes([_NORMALIZER, 2, 4 << 3, 1])
"""A normalizer that removes extra spaces, which is the default and so stands nowhere else."""
FILLER = -1
"""Stands for a row that only makes two tables equally long; its values are those of another."""
_ACTIVATIONS = {RELU: "relu", "silu": "swish", GELU: "gelu", GELU_TANH: "gelu_new"}
_PLAIN = {
    "normalize_first": False,
    "positions": SINUSOIDAL,
    "position_arguments": None,
    "gated": False,
    "feed_forward_bias": True,
    "normalization": "layer",
    "parallel": False,
    "num_key_value_heads": None,
    "sliding_window": None,
    "soft_cap": None,
    "normalize_embeddings": False,
    "query_key_normalization": None,
    "use_sinks": False,
}
"""What Marian's models in transformers can be, by field of `TransformerConfig`."""


def save_marian(model, source_tokenizer, tokenizer, folder, search: Mapping) -> Path:
    """Writes a `Transformer` as a Marian model of transformers.

    CTranslate2 converts it, too, and gives the same answers if the model has embed_start=False: it
    begins every answer of a Marian model with zeros.

    model.safetensors, config.json, generation_config.json, source.spm, target.spm, vocab.json and
    tokenizer_config.json. Logits are equal but for an ε of 1e-5 in the normalizations, which
    transformers cannot change; texts are normalized by the SentencePiece models, which are given
    the tokenizer's own normalization (NFKC).

    Args:
        model: `Transformer` that normalizes after each sublayer, with sinusoids and plain
            feed-forward layers.
        source_tokenizer: `Tokenizer` or `PretrainedTokenizer`.
        tokenizer: likewise, of the answers; the same object where there is one vocabulary.
        folder: path, new or empty.
        search: dict of beam_width, length_alpha and early_stopping.

    Returns:
        path of the folder.

    Raises:
        ImportError: safetensors is not installed.
        ValueError: a model with parts that Marian lacks, or a folder that is not empty.
    """
    _check(model.config, tokenizer)
    with extra("pretrained"):
        from safetensors.numpy import save_file
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"Expected a new or empty folder. Received: {os.fspath(folder)!r}")
    is_one = source_tokenizer.equals(tokenizer) or _same_names(source_tokenizer, tokenizer)
    sides = {"source": source_tokenizer, "target": tokenizer}
    bias = model.decoder.output_bias
    silent = None if bias is None else np.asarray(bias) <= SILENT / 2
    rows = _special_rows(model.config, silent)
    orders = {"source": _order(source_tokenizer, rows if is_one else [])}
    orders["target"] = _order(tokenizer, rows)
    longest = max(map(len, orders.values()))  # transformers has one id of padding for both.
    for order in orders.values():
        order[-1:-1] = [FILLER] * (longest - len(order))
    if model.config.tied == ALL and not is_one:
        raise ValueError("Expected one vocabulary for tied='all'. Received: two that differ")
    is_shared = model.config.tied == ALL or (model.config.tied == NOTHING and is_one)
    tensors = _tensors(model, orders, is_shared)
    with whole_folder(made_folder(folder.absolute().parent)) as partial:
        save_file(tensors, partial / "model.safetensors", metadata={"format": "pt"})
        names = {side: _names(sides[side], orders[side]) for side in sides}
        for side, each in sides.items():
            (partial / f"{side}.spm").write_bytes(_normalizing(each))
        files = {"vocab.json": names["source"]}
        files |= {} if is_shared else {"target_vocab.json": names["target"]}
        for name, known in files.items():
            _write(partial / name, {piece: place for place, piece in enumerate(known)})
        pad = longest - 1
        banned = [pad - place for place in range(len(rows) + 1)]
        banned += [orders["target"].index(token) for token in getattr(tokenizer, "never", ())]
        anew = bool(silent is not None and silent[START_ID])
        for name, content in _settings(
            model.config, names, is_shared, {**search, "banned": banned, "anew": anew}
        ).items():
            _write(partial / name, content)
        move_folder(partial, folder)
    return folder


def _check(config, tokenizer):
    """Raises ValueError for parts that Marian's models in transformers lack."""
    others = {name: getattr(config, name) for name, plain in _PLAIN.items()}
    others = {name: value for name, value in others.items() if value != _PLAIN[name]}
    if config.activation not in _ACTIVATIONS:
        others["activation"] = config.activation
    if config.key_dim != config.value_dim or config.num_heads * config.key_dim != config.hidden_dim:
        others["key_dim"] = config.key_dim
    if others:
        named = ", ".join(f"{name}={value!r}" for name, value in others.items())
        wanted = ", ".join(f"{name}={_PLAIN[name]!r}" for name in others if name in _PLAIN)
        hint = f" (train with {wanted})" if wanted else ""
        raise ValueError(f"Expected a Transformer of Marian's kind{hint}. Received: {named}")
    if getattr(tokenizer, "prefix_ids", ()):
        raise ValueError(
            "Expected answers that begin with text. Received: a model whose answers begin with "
            f"{tokenizer.prefix[0]}, which Marian's do not"
        )


def _same_names(one, other):
    return (
        isinstance(one, PretrainedTokenizer)
        and isinstance(other, PretrainedTokenizer)
        and one.names == other.names
    )


def _special_rows(config, silent):
    """The special ids that take part in the probabilities beside what begins an answer.

    Without its own embedding, that is a row of zeros which takes no part.
    """
    is_silent = [False] * SPECIAL_PIECES if silent is None else silent
    candidates = (PAD_ID,) if config.embed_start else (PAD_ID, START_ID)
    return [each for each in candidates if not is_silent[each]]


def _order(tokenizer, rows):
    """Ids here in the order of Marian's: the end, the unknown, the pieces, what pads.

    Args:
        tokenizer: of the side.
        rows: special ids that have a row of their own before the last.
    """
    pieces = range(SPECIAL_PIECES, tokenizer.vocabulary_size)
    return [END_ID, UNKNOWN_ID, *pieces, *rows, START_ID]


def _names(tokenizer, order):
    """The piece of each of Marian's ids."""
    special = {END_ID: END_NAME, UNKNOWN_ID: UNKNOWN_NAME}
    special |= {place: f"<unused {place}>" for place in (PAD_ID, START_ID)}
    if isinstance(tokenizer, PretrainedTokenizer):
        known = tokenizer.names
    else:
        known = [
            tokenizer.piece_of(place) if place >= SPECIAL_PIECES else ""
            for place in range(tokenizer.vocabulary_size)
        ]
    known = [*known, ""]  # FILLER is the last.
    names = [special.get(place) or known[place] or f"<hole {at}>" for at, place in enumerate(order)]
    return [*names[:-1], PAD_NAME]


def _tensors(model, orders, is_shared):
    """name -> array, under the names of transformers."""
    config, weights = model.config, weights_of(model)
    units = np.argsort(alternating(config.hidden_dim))
    arrays = {name: np.asarray(variable) for name, variable in weights.items()}
    tables = {"target": arrays["table"], "source": arrays.get("source_table", arrays["table"])}
    named = {}
    if is_shared and config.tied != NOTHING:
        named[SHARED] = tables["target"][orders["target"]][:, units]
    else:
        for side, name in TABLES.items():
            named[name] = tables[side][orders[side]][:, units]
        if config.tied == NOTHING:
            named[HEAD] = arrays["output_table"][orders["target"]][:, units]
    bias = arrays.get("output_bias", np.zeros(len(tables["target"]), "float32"))
    bias = np.where(bias <= SILENT / 2, 0.0, bias)[orders["target"]]
    bias[np.equal(orders["target"], FILLER)] = SILENT
    if not config.embed_start:
        bias[-1] = SILENT
        for name in (SHARED, *TABLES.values()):
            if name in named:
                named[name][-1] = 0.0
    named[BIAS] = bias[None]
    for stack, layers in (("encoder", config.num_layers), ("decoder", config.decoder_layers)):
        for n in range(layers):
            for name, part, role in bart_block(stack == "decoder"):
                array = arrays.get(f"{stack}/block_{n}/{part}")
                named[f"model.{stack}.layers.{n}.{name}"] = _turned(array, role, units)
    return {name: np.ascontiguousarray(array, "float32") for name, array in named.items()}


def _turned(array, role, units):
    """A tensor of ours as torch has it; biases that we lack are 0.

    The only biases that may be missing are as wide as the model.
    """
    if array is None:
        return np.zeros(len(units), "float32")
    if role == READ:
        return array.reshape(len(units), -1)[units].T
    if role == WRITTEN:
        return array.reshape(-1, len(units))[:, units].T
    return array[units] if role == UNITS else array.reshape(-1)


def _settings(config, names, is_shared, search):
    """Contents of the JSON files by name."""
    pad, sizes = len(names["target"]) - 1, {side: len(each) for side, each in names.items()}
    special = {"pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad}
    model = {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "vocab_size": sizes["source"],
        "decoder_vocab_size": sizes["target"],
        "d_model": config.hidden_dim,
        "encoder_layers": config.num_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.intermediate_dim,
        "decoder_ffn_dim": config.intermediate_dim,
        "activation_function": _ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "max_position_embeddings": config.max_sequence_length,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "share_encoder_decoder_embeddings": is_shared,
        "tie_word_embeddings": config.tied != NOTHING,
        "is_encoder_decoder": True,
        "forced_eos_token_id": 0,
        **special,
    }
    generation = {
        **special,
        "bad_words_ids": [[token] for token in search["banned"]],
        "forced_eos_token_id": 0,
        "max_length": 512,
        "num_beams": search["beam_width"],
        "length_penalty": search["length_alpha"],
        "early_stopping": search["early_stopping"],
        "renormalize_logits": search["anew"],
    }
    tokenizer = {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": 512,
        "separate_vocabs": not is_shared,
        "eos_token": END_NAME,
        "unk_token": UNKNOWN_NAME,
        "pad_token": PAD_NAME,
        "source_lang": "source",
        "target_lang": "target",
    }
    return {
        "config.json": model,
        "generation_config.json": generation,
        "tokenizer_config.json": tokenizer,
    }


def _write(path, content):
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _normalizing(tokenizer) -> bytes:
    """The tokenizer's SentencePiece model, which normalizes texts as the tokenizer does."""
    if isinstance(tokenizer, PretrainedTokenizer):
        return tokenizer.model
    # Of a message that occurs twice in a protocol buffer, the later fields count.
    return b"".join([tokenizer.model, *_normalizers(_nfkc(tokenizer.lowercase)), _ONE_SPACE])


def _normalizers(model):
    """The normalizer in the protocol buffer of a model, as it stands there."""
    place = 0
    while place < len(model):
        start, tag = place, model[place]
        size, place = _varint(model, place + 1)
        place += size
        if tag == _NORMALIZER:
            yield model[start:place]


def _varint(data, place):
    """An integer of a protocol buffer, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 0x7F) << shift, shift + 7, place + 1
        if byte < 0x80:
            return value, place


def _nfkc(lowercase) -> bytes:
    """A model that normalizes to NFKC, one space between words and none at the ends."""
    model = io.BytesIO()
    with hidden_native_log():
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b"]),
            model_writer=model,
            model_type="char",
            vocab_size=6,
            hard_vocab_limit=False,
            normalization_rule_name="nfkc_cf" if lowercase else "nfkc",
            minloglevel=2,
        )
    return model.getvalue()
