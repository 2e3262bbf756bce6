"""Golden translators of the Marian family: models of Opus-MT in the form of transformers."""

import json
import tempfile
from pathlib import Path

import translator_answers
import translator_texts

SOURCES = [
    "the rain.",
    "",
    "  is  it!  ",
    "she told him the tale of ten tin ants and the old stone; is it late?",
    "Ｔen ﬁsh ☃ QÄ 27 ½ sold\u200b.",
    "salt",
    "no sand\tis\nin… the letter",
]
TARGETS = [
    "der regen.",
    "  im\u00a0! ",
    "",
    "sie erzählte ihm die sage von zehn zinnernen ameisen und dem alten stein.",
    "Ωß☃ 19",
    "salz",
    "kein sand ist im brief.",
]
CODED = [
    ">>deu<< the rain.",
    "",
    ">>fra<<is  it!  ",
    "she told him >>deu<< the tale of ten tin ants and the old stone; is it late?",
    ">>xyz<< Ｔen ﬁsh ☃ QÄ 27 ½ sold\u200b.",
    " >>fra<< salt",
    "no <sand>\tis\nin</s> the <pad> letter <unk>",
]
SEEDS = {"marian_post": 0, "marian_relu_separate": 3, "marian_untied_gelu": 1}
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


def joint(*models):
    """ids of the end, of what is unknown and of the pieces of all models, padding last."""
    known = ["</s>", "<unk>"]
    for model in models:
        known += [piece for piece in translator_texts.pieces(model) if piece not in known]
    known = [piece for piece in known if piece != "<s>"]
    return {piece: index for index, piece in enumerate([*known, "<pad>"])}


def with_holes(vocabulary):
    """Codes, pieces that no model has, ids that no piece has and pieces without id."""
    gone = {"s", "en", "?", "▁the"}
    pieces = [piece for piece in vocabulary if piece not in gone | {"<pad>"}]
    pieces[2:2] = [">>fra<<", ">>deu<<", "▁sailor"]
    pieces.insert(7, "ß")
    result = {piece: index + (index > 11) + 2 * (index > 31) for index, piece in enumerate(pieces)}
    return {**result, "<pad>": max(result.values()) + 1}


def tokenizer(source, target, vocabulary, target_vocabulary=None):
    """MarianTokenizer of two SentencePiece models."""
    from transformers import MarianTokenizer

    folder = Path(tempfile.mkdtemp())
    folder.joinpath("source.spm").write_bytes(source)
    folder.joinpath("target.spm").write_bytes(target)
    folder.joinpath("vocab.json").write_text(json.dumps(vocabulary))
    settings = {"source_lang": "en", "target_lang": "de"}
    if target_vocabulary:
        folder.joinpath("target_vocab.json").write_text(json.dumps(target_vocabulary))
        settings["separate_vocabs"] = True
    folder.joinpath("tokenizer_config.json").write_text(json.dumps(settings))
    return MarianTokenizer.from_pretrained(folder)


def model(seed, vocabulary, generation, **choices):
    """MarianMTModel whose padding is the last id of a vocabulary."""
    from transformers import GenerationConfig, MarianConfig, MarianMTModel

    padding = vocabulary["<pad>"]
    special = {
        "eos_token_id": 0,
        "pad_token_id": padding,
        "decoder_start_token_id": padding,
        "forced_eos_token_id": 0,
    }
    config = MarianConfig(
        **{**SIZES, "vocab_size": padding + 1, **choices},
        **special,
        bos_token_id=0,
        static_position_embeddings=True,
        normalize_before=False,
        attn_implementation="eager",
    )
    made = MarianMTModel(config)
    made.generation_config = GenerationConfig(
        **special, bad_words_ids=[[padding]], num_beams=4, max_length=61, **generation
    )
    return translator_answers.randomize(made, seed)


def models():
    return (
        translator_texts.sentence_piece(translator_texts.ENGLISH, 49),
        translator_texts.sentence_piece(translator_texts.GERMAN, 49),
    )


def post(folder):
    """As nearly all of Opus-MT's."""
    source, target = models()
    vocabulary = joint(source, target)
    made = model(
        SEEDS["marian_post"],
        vocabulary,
        {},
        activation_function="swish",
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
    )
    words = tokenizer(source, target, vocabulary)
    words.save_pretrained(folder)
    return translator_answers.written(folder, made, words, SOURCES, TARGETS)


def relu_separate(folder):
    """Two vocabularies, layers of different numbers, and probabilities made to sum to one."""
    source, target = models()
    vocabulary, targets = joint(source), joint(target)
    made = model(
        SEEDS["marian_relu_separate"],
        targets,
        {"renormalize_logits": True},
        activation_function="relu",
        scale_embedding=False,
        share_encoder_decoder_embeddings=False,
        vocab_size=len(vocabulary),
        decoder_vocab_size=len(targets),
        encoder_layers=3,
    )
    words = tokenizer(source, target, vocabulary, targets)
    words.save_pretrained(folder)
    return translator_answers.written(folder, made, words, SOURCES, TARGETS)


def untied_gelu(folder):
    """Three tables of embeddings, codes of languages, and a vocabulary with holes."""
    source, target = models()
    vocabulary = with_holes(joint(source, target))
    made = model(
        SEEDS["marian_untied_gelu"],
        vocabulary,
        {"early_stopping": True, "length_penalty": 0.6},
        activation_function="gelu",
        scale_embedding=True,
        share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False,
    )
    words = tokenizer(source, target, vocabulary)
    words.save_pretrained(folder)
    return translator_answers.written(folder, made, words, CODED, TARGETS)


CASES = {
    "marian_post": post,
    "marian_relu_separate": relu_separate,
    "marian_untied_gelu": untied_gelu,
}
