"""Golden translators of the T5 family."""

import json
import tempfile
from pathlib import Path

import translator_answers
import translator_marian
import translator_texts

SOURCES = [
    "the rain.",
    "",
    "  is  it!  ",
    "she told him the tale of ten tin ants and the old stone; is it late?",
    "Ｔen ﬁsh ☃ QÄ 27 ½ sold\u200b.",
    "salt <extra_id_1> sand<extra_id_4>.",
    "no <sand>\tis\nin</s> the <pad> letter <unk>",
]
TARGETS = translator_marian.TARGETS
EXTRA = 5
SEEDS = {"t5": 4, "flan_t5": 10}
SIZES = {
    "d_model": 8,
    "d_kv": 3,
    "d_ff": 11,
    "num_heads": 2,
    "num_layers": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 20,
}


def tokenizer(folder):
    """T5Tokenizer of a SentencePiece model, whose file lies in the folder as on the hub."""
    from transformers import T5Tokenizer

    lines = translator_texts.ENGLISH + translator_texts.GERMAN
    numbers = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    trained = translator_texts.sentence_piece(lines, 61, **numbers, pad_piece="<pad>")
    folder.joinpath("spiece.model").write_bytes(trained)
    with tempfile.TemporaryDirectory() as other:
        Path(other, "spiece.model").write_bytes(trained)
        settings = {"extra_ids": EXTRA, "model_max_length": 512}
        Path(other, "tokenizer_config.json").write_text(json.dumps(settings))
        return T5Tokenizer.from_pretrained(other)


def model(name, words, **choices):
    """T5ForConditionalGeneration with more rows than there are pieces."""
    from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration

    special = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = T5Config(**SIZES, vocab_size=len(words) + 3, **special, **choices)
    config._attn_implementation = "eager"
    made = T5ForConditionalGeneration(config)
    made.generation_config = GenerationConfig(**special)
    return translator_answers.randomize(made, SEEDS[name])


def first(folder):
    words = tokenizer(folder)
    words.save_pretrained(folder)
    made = model("t5", words, feed_forward_proj="relu")
    arrays = translator_answers.written(folder, made, words, SOURCES, TARGETS)
    return arrays | odd(folder, words)


def odd(folder, words):
    """Answers to odd texts."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    return translator_answers.odd(words, processor.encode)


def flan(folder):
    """An own table of outputs, in the hub's form: not all that transformers 5 writes."""
    import torch

    words = tokenizer(folder)
    made = model("flan_t5", words, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    made.lm_head.weight = torch.nn.Parameter(0.4 * torch.randn_like(made.lm_head.weight))
    arrays = translator_answers.written(folder, made, words, SOURCES, TARGETS)
    extra = [f"<extra_id_{number}>" for number in range(EXTRA)]
    special = {
        "additional_special_tokens": extra,
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
    }
    as_json(folder / "special_tokens_map.json", special)
    settings = {"extra_ids": EXTRA, "model_max_length": 512, "sp_model_kwargs": {}}
    settings["tokenizer_class"] = "T5Tokenizer"
    as_json(folder / "tokenizer_config.json", {**special, **settings})
    config = json.loads(folder.joinpath("config.json").read_text())
    del config["scale_decoder_outputs"]
    as_json(folder / "config.json", {**config, "tie_word_embeddings": False})
    return arrays | odd(folder, words)


def as_json(path, content):
    path.write_text(json.dumps(content, indent=2) + "\n")


CASES = {"t5": first, "flan_t5": flan}
