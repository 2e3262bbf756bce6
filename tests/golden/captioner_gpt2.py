"""Golden captioners of a Vision Transformer and GPT-2, in the form of transformers."""

import json

import captioner_answers
import numpy as np
from captioner_answers import CAPTIONS

END = "<|endoftext|>"
VISION = {
    "num_hidden_layers": 2,
    "hidden_size": 12,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "patch_size": 5,
}
TEXT = {"n_positions": 23, "n_layer": 2}


def learned(size, **added):
    """A tokenizer of bytes and merges, trained by the library tokenizers."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CAPTIONS * 2, trainer)
    return made


def words_of(made, pad=END):
    """GPT2Tokenizer of a trained tokenizer."""
    from transformers import GPT2Tokenizer

    model = json.loads(made.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    return GPT2Tokenizer(vocab=model["vocab"], merges=merges, pad_token=pad)


def model_of(vision, text, seed, start, end, pad):
    """VisionEncoderDecoderModel with random weights."""
    import torch
    import translator_answers
    from transformers import GPT2Config, VisionEncoderDecoderConfig, VisionEncoderDecoderModel

    decoder = GPT2Config(**{**TEXT, **text}, bos_token_id=start, eos_token_id=end)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, decoder)
    config.decoder_start_token_id, config.eos_token_id, config.pad_token_id = start, end, pad
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    made = VisionEncoderDecoderModel(config)
    made.set_attn_implementation("eager")
    return translator_answers.randomize(made, seed)


def answers(model, words, pixels, mean, deviation, start, end):
    """Teaches a model, and returns what it answers."""
    import torch

    scaled = (pixels / 255.0 - np.array(mean)) / np.array(deviation)
    values = torch.tensor(scaled.transpose(0, 3, 1, 2), dtype=torch.float32)

    def logits_of(inputs):
        return model(pixel_values=values, decoder_input_ids=inputs).logits

    def forward(inputs):
        found = model(pixel_values=values, decoder_input_ids=inputs, output_attentions=True)
        kinds = {"cross": found.cross_attentions, "encoder": found.encoder_attentions}
        return found.encoder_last_hidden_state, found.logits, kinds

    def generate_of(model):
        return lambda **choices: model.generate(pixel_values=values, **choices)

    inputs, targets = captioner_answers.labels(words, CAPTIONS, start, end)
    captioner_answers.teach(logits_of, model.parameters(), inputs, targets, 60)
    model.eval()
    return captioner_answers.answers(model, generate_of, forward, words, pixels, start, end)


def preprocessing(folder, image_size, mean, deviation, resample):
    from transformers import ViTImageProcessor

    size = dict(zip(("height", "width"), image_size))
    ViTImageProcessor(
        size=size, image_mean=mean, image_std=deviation, resample=resample
    ).save_pretrained(folder)


def projected(folder):
    """As nlpconnect's, but with a projection between encoder and decoder."""
    from transformers import ViTConfig

    made = learned(300)
    end = made.token_to_id(END)
    words = words_of(made)
    size = (15, 15)
    vision = ViTConfig(**VISION, image_size=size[0])
    text = {"vocab_size": made.get_vocab_size(), "n_embd": 10, "n_head": 2}
    model = model_of(vision, text, 1, end, end, end)
    model.generation_config.num_beams, model.generation_config.max_length = 4, 20
    mean, deviation = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    preprocessing(folder, size, mean, deviation, 2)
    pixels = captioner_answers.pictures(*size)
    arrays = answers(model, words, pixels, mean, deviation, end, end)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return arrays


def untied(folder):
    """Of one width, with a head of its own, padding, and the files of earlier versions."""
    import torch
    from safetensors.torch import load_file
    from transformers import ViTConfig

    made = learned(290)
    end = made.token_to_id(END)
    size = made.get_vocab_size()
    words = words_of(made)
    words.add_special_tokens({"pad_token": "[PAD]"})
    image_size = (15, 20)
    vision = ViTConfig(
        **VISION,
        image_size=list(image_size),
        hidden_act="gelu_new",
        qkv_bias=False,
        layer_norm_eps=1e-6,
    )
    text = {"vocab_size": size + 2, "n_embd": 12, "n_head": 3, "n_inner": 19}
    text |= {"activation_function": "relu", "tie_word_embeddings": False}
    model = model_of(vision, text, 3, end, end, size)
    mean = deviation = [0.5, 0.5, 0.5]
    preprocessing(folder, image_size, mean, deviation, 3)
    pixels = captioner_answers.pictures(*image_size)
    arrays = answers(model, words, pixels, mean, deviation, end, end)
    model.save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    masks = {}
    for n in range(TEXT["n_layer"]):
        for name in ("attn", "crossattention"):
            start = f"decoder.transformer.h.{n}.{name}"
            masks[f"{start}.bias"] = torch.ones(1, 1, 23, 23, dtype=torch.uint8).tril()
            masks[f"{start}.masked_bias"] = torch.tensor(-1e4)
    torch.save({**weights, **masks}, folder / "pytorch_model.bin")
    parts = json.loads(made.to_str())["model"]
    vocabulary = json.dumps(parts["vocab"])
    merges = "".join(f"{first} {second}\n" for first, second in parts["merges"])
    (folder / "vocab.json").write_text(vocabulary, encoding="utf-8")
    (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}", encoding="utf-8")
    (folder / "added_tokens.json").write_text(json.dumps({"[PAD]": size}))
    names = {"bos_token": END, "eos_token": END, "unk_token": END, "pad_token": "[PAD]"}
    (folder / "special_tokens_map.json").write_text(json.dumps(names))
    return arrays


def distilled(folder):
    """With a DeiT, whose second token the decoder sees, and pictures cut out of larger ones."""
    from transformers import DeiTConfig, DeiTImageProcessor

    made = learned(300)
    end = made.token_to_id(END)
    words = words_of(made)
    vision = DeiTConfig(**VISION, image_size=15)
    text = {"vocab_size": made.get_vocab_size(), "n_embd": 12, "n_head": 2}
    model = model_of(vision, text, 1, end, end, end)
    mean, deviation = [0.48, 0.45, 0.4], [0.22, 0.23, 0.24]
    DeiTImageProcessor(
        size={"height": 18, "width": 18},
        crop_size={"height": 15, "width": 15},
        image_mean=mean,
        image_std=deviation,
    ).save_pretrained(folder)
    pixels = captioner_answers.pictures(15, 15)
    arrays = answers(model, words, pixels, mean, deviation, end, end)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return arrays


CASES = {"deit": distilled, "gpt2": projected, "gpt2_untied": untied}
