"""Writes dual_encoders/: small CLIPs of transformers, and what they answer.

    PYTHONPATH=. PYTHON tests/golden/make_dual_encoders.py [CASE ...]

PYTHON is one with torch 2.13 and transformers 5.24; takes seconds. All weights are random, biases
included. A folder holds the files of a repository on the hub. answers.npz:

    pictures            uint8 (3, height, width, 3), of the encoder's size
    texts, input_ids    captions and odd texts, and their ids, cut and padded by the tokenizer
    hidden, weights     of the texts, (B, T, D) and (N, B, H, T, T)
    image_embeds, text_embeds, logits_per_image
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

from tests.golden import clip_words
from tests.golden.make_vision_transformer import randomize

FOLDER = Path(__file__).with_name("dual_encoders")
TEXTS = [
    "a dog runs on the sand.",
    "Two dogs PLAY; it's   late",
    "a man's dog and 27 birds, naïve e\u0301 ☃☃ 👩\u200d👧",
    "ten tin ants on the tin roof of the old house, and they sing all day, until it rains!!",
    "",
    "日本語\t1234½ don't 'S''ll",
]
VISION = {"num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 15, "patch_size": 5}
TEXT = {"num_hidden_layers": 2, "max_position_embeddings": 23}
MEAN, DEVIATION = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]


def answers(model, words, longest):
    """What a model makes of pictures and texts."""
    import torch

    size = model.config.vision_config.image_size
    random = np.random.default_rng(5)
    pictures = random.integers(0, 256, (3, size, size, 3)).astype("uint8")
    scaled = (pictures / 255.0 - np.array(MEAN)) / np.array(DEVIATION)
    pixels = torch.tensor(scaled.transpose(0, 3, 1, 2), dtype=torch.float32)
    options = {"padding": "max_length", "max_length": longest, "truncation": True}
    rows = words(TEXTS, **options, return_tensors="pt")
    with torch.no_grad():
        made = model(**rows, pixel_values=pixels)
        text = model.text_model(**rows, output_attentions=True)
    arrays = {"hidden": text.last_hidden_state, "weights": torch.stack(text.attentions)}
    for name in ("image_embeds", "text_embeds", "logits_per_image"):
        arrays[name] = getattr(made, name)
    arrays = {name: array.numpy() for name, array in arrays.items()}
    ids = rows["input_ids"].numpy().astype("int32")
    return {"pictures": pictures, "texts": np.array(TEXTS), "input_ids": ids, **arrays}


def model_of(text, vision, **options):
    """CLIPModel with random weights."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    torch.manual_seed(4)
    config = CLIPConfig(text_config={**TEXT, **text}, vision_config={**VISION, **vision}, **options)
    model = CLIPModel(config)
    model.set_attn_implementation("eager")
    return randomize(model)


def pictures_of(size):
    from transformers import CLIPImageProcessorPil

    sizes = {"size": {"shortest_edge": size}, "crop_size": {"height": size, "width": size}}
    return CLIPImageProcessorPil(**sizes, image_mean=MEAN, image_std=DEVIATION)


def recent(folder):
    """As transformers 5 writes it, with towers of different widths."""
    from transformers import CLIPProcessor

    words = clip_words.tokenizer(TEXTS * 2, 580, model_max_length=19)
    size, end = len(words), words.eos_token_id
    text = {"hidden_size": 10, "num_attention_heads": 2, "intermediate_size": 13}
    text |= {"vocab_size": size, "eos_token_id": end, "bos_token_id": words.bos_token_id}
    vision = {"hidden_size": 12, "intermediate_size": 17}
    model = model_of(text, vision, projection_dim=7)
    model.save_pretrained(folder)
    CLIPProcessor(image_processor=pictures_of(15), tokenizer=words).save_pretrained(folder)
    return answers(model, words, 19)


def early(folder):
    """As OpenAI's: eos_token_id 2, torch's file with positions' numbers, vocab.json, merges.txt.

    Padding is a token of its own; activations are GELU.
    """
    import torch

    vocabulary, merges = clip_words.learned(TEXTS * 2, 560)
    from transformers import CLIPTokenizer

    pad = {"<|pad|>": len(vocabulary) - 2}
    names = [name for name in vocabulary if name not in (clip_words.START, clip_words.END)]
    names = [*names, *pad, clip_words.START, clip_words.END]
    vocabulary = {name: place for place, name in enumerate(names)}
    words = CLIPTokenizer(vocab=vocabulary, merges=merges, pad_token="<|pad|>")
    text = {"hidden_size": 12, "num_attention_heads": 3, "intermediate_size": 11}
    text |= {"vocab_size": len(names), "eos_token_id": 2, "bos_token_id": 0, "hidden_act": "gelu"}
    vision = {"hidden_size": 6, "intermediate_size": 17, "hidden_act": "gelu"}
    model = model_of(text | {"layer_norm_eps": 1e-3}, vision, projection_dim=5)
    numbers = {"text": TEXT["max_position_embeddings"], "vision": 10}
    weights = model.state_dict() | {
        f"{name}_model.embeddings.position_ids": torch.arange(count)[None]
        for name, count in numbers.items()
    }
    torch.save(weights, folder / "pytorch_model.bin")
    model.config.save_pretrained(folder)
    pictures_of(15).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    lines = "".join(f"{first} {second}\n" for first, second in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{lines}", encoding="utf-8")
    names = {"bos_token": clip_words.START, "eos_token": clip_words.END, "pad_token": "<|pad|>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(names))
    return answers(model, words, TEXT["max_position_embeddings"])


CASES = {"recent": recent, "early": early}
"""Functions that write a case's folder and return its answers, by name."""


def main():
    for name in sys.argv[1:] or CASES:
        folder = FOLDER / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        np.savez_compressed(folder / "answers.npz", **CASES[name](folder))
        for path in folder.iterdir():
            path.chmod(0o644)


if __name__ == "__main__":
    main()
