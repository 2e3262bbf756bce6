"""Golden captioners of BLIP's kind, in the form of transformers."""

import json

import captioner_answers
import numpy as np
import translator_answers
from captioner_answers import CAPTIONS

START = "[DEC]"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE = 15
MEAN, DEVIATION = [0.48, 0.45, 0.4], [0.26, 0.27, 0.28]
VISION = {
    "num_hidden_layers": 2,
    "hidden_size": 14,
    "num_attention_heads": 2,
    "intermediate_size": 17,
    "image_size": SIZE,
    "patch_size": 5,
}
TEXT = {"num_hidden_layers": 2, "max_position_embeddings": 29, "intermediate_size": 19}


def pieces(size, lowercase):
    """Names by id, trained by the library tokenizers."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), show_progress=False
    )
    made.train_from_iterator([*CAPTIONS, "n't 'm 's 've é 日 ."] * 2, trainer)
    return [made.id_to_token(place) for place in range(made.get_vocab_size())]


def model_of(vision, text, seed, start, end):
    """BlipForConditionalGeneration with random weights."""
    from transformers import BlipConfig, BlipForConditionalGeneration

    ids = {"bos_token_id": start, "sep_token_id": end, "pad_token_id": 0, "eos_token_id": 2}
    config = BlipConfig(text_config={**TEXT, **text, **ids}, vision_config={**VISION, **vision})
    made = BlipForConditionalGeneration(config)
    return translator_answers.randomize(made, seed)


def answers(model, words, start, end):
    """Teaches a model, and returns what it answers."""
    import torch

    pixels = captioner_answers.pictures(SIZE, SIZE)
    scaled = (pixels / 255.0 - np.array(MEAN)) / np.array(DEVIATION)
    values = torch.tensor(scaled.transpose(0, 3, 1, 2), dtype=torch.float32)

    def logits_of(inputs):
        return model(pixel_values=values, input_ids=inputs).logits

    def forward(inputs):
        encoded = model.vision_model(pixel_values=values).last_hidden_state
        found = model.text_decoder(
            input_ids=inputs, encoder_hidden_states=encoded, output_attentions=True
        )
        return encoded, found.logits, {"cross": found.cross_attentions}

    def generate_of(model):
        return lambda **choices: model.generate(pixel_values=values, **choices)

    inputs, targets = captioner_answers.labels(words, CAPTIONS, start, end)
    captioner_answers.teach(logits_of, model.parameters(), inputs, targets, 120)
    model.eval()
    return captioner_answers.answers(model, generate_of, forward, words, pixels, start, end)


def base(folder):
    """As Salesforce's, with the files that transformers 5 writes."""
    from transformers import BertTokenizer, BlipImageProcessor, BlipProcessor

    names = pieces(70, True)
    words = BertTokenizer(vocab={name: place for place, name in enumerate(names)})
    start, end = len(names), names.index("[SEP]")
    text = {"vocab_size": len(names) + 2, "hidden_size": 12, "num_attention_heads": 3}
    model = model_of({}, text, 3, start, end)
    arrays = answers(model, words, start, end)
    model.generation_config.max_length = 20
    model.save_pretrained(folder)
    size = {"height": SIZE, "width": SIZE}
    pictures = BlipImageProcessor(size=size, image_mean=MEAN, image_std=DEVIATION)
    BlipProcessor(pictures, words).save_pretrained(folder)
    return arrays


def earlier(folder):
    """With capitals, other activations, and the files of earlier versions."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertTokenizer

    names = pieces(60, False)
    names[5:5] = [START, "[ENC]"]
    vocabulary = {name: place for place, name in enumerate(names)}
    settings = {"do_lower_case": False, "clean_up_tokenization_spaces": True}
    special = {"additional_special_tokens": [START, "[ENC]"]}
    words = BertTokenizer(vocab=vocabulary, **settings, **special)
    start, end = names.index(START), names.index("[SEP]")
    text = {"vocab_size": len(names), "hidden_size": 10, "num_attention_heads": 2}
    text |= {"hidden_act": "relu", "layer_norm_eps": 1e-6}
    model = model_of({"hidden_act": "gelu_new"}, text, 7, start, end)
    arrays = answers(model, words, start, end)
    model.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    head, body = "text_decoder.cls.predictions", "text_decoder.bert.embeddings"
    more = {
        f"{head}.decoder.weight": weights[f"{body}.word_embeddings.weight"],
        f"{head}.decoder.bias": weights[f"{head}.bias"],
        f"{body}.position_ids": torch.arange(TEXT["max_position_embeddings"])[None],
    }
    torch.save({**weights, **more}, folder / "pytorch_model.bin")
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, **special}))
    pictures = {
        "image_processor_type": "BlipImageProcessor",
        "do_pad": True,
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "rescale_factor": 1 / 255,
        "size": {"height": SIZE, "width": SIZE},
        "size_divisor": 32,
        "resample": 3,
        "image_mean": MEAN,
        "image_std": DEVIATION,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(pictures))
    return arrays


CASES = {"blip": base, "blip_earlier": earlier}
