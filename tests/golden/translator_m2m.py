"""Golden translators with fairseq's vocabularies: M2M-100, NLLB and mBART."""

import json

import translator_answers
import translator_marian
import translator_texts

SOURCES = [
    "the rain.",
    "",
    "  is  it!",
    "she told him the tale of ten tin ants and the old stone; is it late?",
    "ten fish ☃ QÄ 27 € sold.",
    "salt έχει ήλιο",
    "no sand\tis\nin the letter",
]
TARGETS = [text.rstrip() for text in translator_marian.TARGETS]
SEEDS = {"m2m": 0, "nllb": 1, "mbart50": 1, "mbart": 1}
SIZES = {
    "d_model": 8,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 11,
    "decoder_ffn_dim": 11,
    "max_position_embeddings": 61,
}
SPECIAL = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
}
MASK = {"cls_token": "<s>", "mask_token": "<mask>"}
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""The first ids; SentencePiece's first three are unknown, start and end."""


def trained(folder, model_type):
    """Bytes of a SentencePiece model, also written."""
    lines = translator_texts.ENGLISH + translator_texts.GERMAN + translator_texts.OTHERS[:1]
    model = translator_texts.sentence_piece(
        lines, 73, model_type=model_type, character_coverage=0.99
    )
    folder.joinpath("sentencepiece.bpe.model").write_bytes(model)
    return model


def hub_files(folder, kind, special, codes, **settings):
    """tokenizer_config.json and special_tokens_map.json as the hub has them."""
    special = {**special, "additional_special_tokens": codes}
    as_json(folder / "special_tokens_map.json", special)
    as_json(folder / "tokenizer_config.json", {**special, **settings, "tokenizer_class": kind})


def as_json(path, content):
    path.write_text(json.dumps(content) + "\n")


def piece_ids(model):
    """Function from a text to SentencePiece's ids, moved by one as in fairseq."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_proto=model)
    return lambda text: [index + 1 if index else 3 for index in processor.encode(text)]


def written(folder, name, words, generation, pieces, size, config, **choices):
    """A model of `size` rows for a tokenizer, and its answers, those to odd texts included."""
    from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig

    for text in SOURCES + TARGETS:
        assert words(text, add_special_tokens=False)["input_ids"] == pieces(text)
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    config = AutoConfig.for_model(**{**SIZES, **special, **generation, **config}, vocab_size=size)
    config._attn_implementation = "eager"
    made = AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager")
    made.generation_config = GenerationConfig(
        **{**special, "max_length": 61, "num_beams": 5, **generation}
    )
    translator_answers.randomize(made, SEEDS[name])
    arrays = translator_answers.written(folder, made, words, SOURCES, TARGETS, **choices)
    return {**arrays, **translator_answers.odd(words, pieces)}


def m2m(folder):
    """An own order of pieces, some of them missing, codes after them and rows of no token."""
    from transformers import M2M100Tokenizer
    from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

    model = trained(folder, "bpe")
    pieces = sorted(translator_texts.pieces(model)[3:], key=lambda piece: (len(piece), piece))
    kept = [*FAIRSEQ, *(piece for piece in pieces if piece not in ("s", "▁the", "en"))]
    vocabulary = {piece: index for index, piece in enumerate(kept)}
    as_json(folder / "vocab.json", vocabulary)
    codes = [f"__{code}__" for code in FAIRSEQ_LANGUAGE_CODES["m2m100"]]
    settings = {"language_codes": "m2m100", "num_madeup_words": 8, "model_max_length": 1024}
    hub_files(folder, "M2M100Tokenizer", SPECIAL, codes, src_lang=None, tgt_lang=None, **settings)
    words = M2M100Tokenizer.from_pretrained(folder, src_lang="en", tgt_lang="de")
    return written(
        folder,
        "m2m",
        words,
        {"decoder_start_token_id": 2, "early_stopping": True},
        lambda text: [vocabulary.get(p, 3) for p in words.sp_model.encode(text, out_type=str)],
        len(vocabulary) + len(codes) + 8,
        {"model_type": "m2m_100"},
        forced_bos_token_id=words.get_lang_id("de"),
    )


def nllb(folder):
    """Codes and the mask after the pieces; no tokenizer.json, which has 30 kB."""
    from tokenizers.models import BPE
    from transformers import NllbTokenizer
    from transformers.convert_slow_tokenizer import NllbConverter, SentencePieceExtractor
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    model = trained(folder, "bpe")
    hub_files(
        folder, "NllbTokenizer", {**SPECIAL, **MASK}, FAIRSEQ_LANGUAGE_CODES, src_lang="eng_Latn"
    )
    extractor = SentencePieceExtractor(str(folder / "sentencepiece.bpe.model"))
    parts = NllbConverter.convert_from_spm(**extractor.extract(BPE))
    vocabulary = parts["vocab"]
    for token in (*FAIRSEQ_LANGUAGE_CODES, "<mask>"):
        vocabulary[token] = len(vocabulary)
    words = NllbTokenizer(
        vocab=vocabulary,
        merges=parts["merges"],
        _spm_precompiled_charsmap=parts["_spm_precompiled_charsmap"],
        src_lang="eng_Latn",
        tgt_lang="deu_Latn",
    )
    return written(
        folder,
        "nllb",
        words,
        {"decoder_start_token_id": 2},
        piece_ids(model),
        len(vocabulary) + 2,
        {"model_type": "m2m_100"},
        forced_bos_token_id=words.convert_tokens_to_ids("deu_Latn"),
    )


def mbart50(folder):
    from transformers import MBart50Tokenizer
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    model = trained(folder, "unigram")
    hub_files(
        folder, "MBart50Tokenizer", {**SPECIAL, **MASK}, FAIRSEQ_LANGUAGE_CODES, src_lang="en_XX"
    )
    words = MBart50Tokenizer.from_pretrained(folder, src_lang="en_XX", tgt_lang="de_DE")
    return written(
        folder,
        "mbart50",
        words,
        {"decoder_start_token_id": 2, "forced_eos_token_id": 2, "early_stopping": True},
        piece_ids(model),
        len(words),
        {"model_type": "mbart", "scale_embedding": True},
        forced_bos_token_id=words.convert_tokens_to_ids("de_DE"),
    )


def mbart(folder):
    """Made for one pair, so the config says with which code to start."""
    from transformers import MBartTokenizer
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    model = trained(folder, "unigram")
    hub_files(
        folder, "MBartTokenizer", {**SPECIAL, **MASK}, FAIRSEQ_LANGUAGE_CODES, src_lang="en_XX"
    )
    words = MBartTokenizer.from_pretrained(folder, src_lang="en_XX", tgt_lang="de_DE")
    start = words.convert_tokens_to_ids("de_DE")
    return written(
        folder,
        "mbart",
        words,
        {"decoder_start_token_id": start, "forced_eos_token_id": 2},
        piece_ids(model),
        len(words),
        {"model_type": "mbart", "scale_embedding": False},
    )


CASES = {"m2m": m2m, "nllb": nllb, "mbart50": mbart50, "mbart": mbart}
