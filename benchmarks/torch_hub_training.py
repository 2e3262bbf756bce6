"""Trains small models of the hub's kinds in transformers on torch, and writes their folders.

    python -m benchmarks.torch_hub_training captioner DATA FOLDER [EPOCHS]
    python -m benchmarks.torch_hub_training clip DATA FOLDER [EPOCHS]

DATA holds `images/`, `captions.csv` and `train.txt`, as `benchmarks.warm_start` writes it. The
captioner is a ViT with GPT-2 (`VisionEncoderDecoderModel`), the other a CLIP, both small and for
112 × 112 pixels in patches of 14. Pictures are cropped and mirrored while training.
"""

import csv
import json
import sys
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from PIL import Image

SIZE, MARGIN = 112, 16
UNITS, HEADS, LAYERS = 192, 6, 4
TOWER = {
    "hidden_size": UNITS,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 4 * UNITS,
    "image_size": SIZE,
    "patch_size": 14,
}
MEAN = DEVIATION = (0.5, 0.5, 0.5)
TEXT = {"vocab_size": 3000, "positions": 32}
START, END = "<|startoftext|>", "<|endoftext|>"
SUFFIX = "</w>"


def examples(data):
    """uint8 (N, 128, 128, 3) pictures of the training split, and a list of captions for each."""
    data, captions = Path(data), {}
    with open(data / "captions.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            captions.setdefault(row["image"], []).append(row["caption"])
    names = (data / "train.txt").read_text(encoding="utf-8").split("\n")[:-1]
    side = SIZE + MARGIN
    pictures = np.empty((len(names), side, side, 3), np.uint8)
    for place, name in enumerate(names):
        with Image.open(data / "images" / name) as picture:
            pictures[place] = picture.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)
    return pictures, [captions[name] for name in names]


def batches(pictures, size, epochs):
    """Yields the epoch, rows (B,), and pixels (B, 3, H, W), cut at random and half mirrored."""
    rng = np.random.default_rng(0)
    for epoch in range(epochs):
        order = rng.permutation(len(pictures))
        for start in range(0, len(order) - size + 1, size):
            rows = order[start : start + size]
            top, left = rng.integers(0, MARGIN + 1, 2)
            cut = pictures[rows, top : top + SIZE, left : left + SIZE]
            mirrored = rng.random(size) < 0.5
            cut[mirrored] = cut[mirrored, :, ::-1]
            yield epoch, rows, torch.from_numpy(cut).permute(0, 3, 1, 2).float() / 127.5 - 1


def pieces(texts, special, suffix=""):
    """Names and merges of bytes, as the library tokenizers learns them; special names come last."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = alphabet + [name + suffix for name in alphabet if suffix]
    of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not suffix)
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()] if suffix else []
    made = Tokenizer(models.BPE(end_of_word_suffix=suffix))
    made.normalizer = normalizers.Sequence([normalizers.Lowercase()] if suffix else [])
    made.pre_tokenizer = pre_tokenizers.Sequence([*words, of_bytes])
    trainer = trainers.BpeTrainer(
        vocab_size=TEXT["vocab_size"] - len(special),
        initial_alphabet=alphabet,
        end_of_word_suffix=suffix,
        show_progress=False,
    )
    made.train_from_iterator(chain.from_iterable(texts), trainer)
    merges = [tuple(pair) for pair in json.loads(made.to_str())["model"]["merges"]]
    names += dict.fromkeys("".join(pair) for pair in merges)
    return {name: place for place, name in enumerate([*names, *special])}, merges


def train(model, loss_of, batches, steps, peak):
    """Steps of AdamW, whose rate rises over a tenth of them and falls as a cosine."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), peak, betas=(0.9, 0.98), weight_decay=0.05)

    def rate(step):
        return min((step + 1) / (steps / 10), (1 + np.cos(np.pi * step / steps)) / 2)

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    losses = {}
    for epoch, rows, pixels in batches:
        if epoch not in losses:
            print({epoch: float(np.mean(found)) for epoch, found in losses.items()}, flush=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(rows, pixels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.setdefault(epoch, []).append(loss.item())
    print({epoch: float(np.mean(found)) for epoch, found in losses.items()}, flush=True)
    return model.eval()


def padded(found, end):
    """int64 (N, T) ids, and whether they are of the text; the first end after it is."""
    length = max(map(len, found)) + 1
    ids = torch.full((len(found), length), end)
    for row, one in enumerate(found):
        ids[row, : len(one)] = torch.tensor(one)
    kept = torch.arange(length) <= torch.tensor([[len(one)] for one in found])
    return ids, kept


def captioner(pictures, texts, folder, epochs, size=64):
    """ViT and GPT-2; two captions of a picture, drawn at random, in a step."""
    from transformers import (
        GPT2Config,
        GPT2Tokenizer,
        VisionEncoderDecoderConfig,
        VisionEncoderDecoderModel,
        ViTConfig,
        ViTImageProcessor,
    )
    from transformers.modeling_outputs import BaseModelOutput

    vocabulary, merges = pieces(texts, [END])
    words = GPT2Tokenizer(vocab=vocabulary, merges=merges, pad_token=END)
    end = len(vocabulary) - 1
    decoder = GPT2Config(
        vocab_size=len(vocabulary),
        n_positions=TEXT["positions"],
        n_embd=UNITS,
        n_layer=3,
        n_head=HEADS,
        bos_token_id=end,
        eos_token_id=end,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**TOWER), decoder)
    config.decoder_start_token_id = config.eos_token_id = config.pad_token_id = end
    model = VisionEncoderDecoderModel(config)
    model.generation_config.max_length = TEXT["positions"]
    model.generation_config.num_beams = 4
    most, rng = TEXT["positions"] - 2, np.random.default_rng(1)
    ids = [[words(text)["input_ids"][:most] for text in of_one] for of_one in texts]

    def loss_of(rows, pixels):
        seen = model.encoder(pixel_values=pixels).last_hidden_state
        drawn = [rng.permutation(len(ids[row]))[:2] for row in rows]
        counts = torch.tensor([len(places) for places in drawn])
        chosen = [ids[row][place] for row, places in zip(rows, drawn) for place in places]
        labels, kept = padded(chosen, end)
        return model(
            encoder_outputs=BaseModelOutput(seen.repeat_interleave(counts, 0)),
            labels=labels.masked_fill(~kept, -100),
        ).loss

    steps = len(pictures) // size * epochs
    train(model, loss_of, batches(pictures, size, epochs), steps, 1e-3)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    squashed = {"height": SIZE, "width": SIZE}
    ViTImageProcessor(size=squashed, image_mean=MEAN, image_std=DEVIATION).save_pretrained(folder)


def clip(pictures, texts, folder, epochs, size=128):
    """CLIP; one caption of a picture, drawn at random, in a step."""
    from transformers import (
        CLIPConfig,
        CLIPImageProcessor,
        CLIPModel,
        CLIPTextConfig,
        CLIPTokenizer,
        CLIPVisionConfig,
    )

    vocabulary, merges = pieces(texts, [START, END], SUFFIX)
    words = CLIPTokenizer(vocab=vocabulary, merges=merges, model_max_length=TEXT["positions"])
    text = CLIPTextConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=512,
        max_position_embeddings=TEXT["positions"],
        bos_token_id=len(vocabulary) - 2,
        eos_token_id=len(vocabulary) - 1,
        pad_token_id=len(vocabulary) - 1,
    )
    vision = CLIPVisionConfig(**TOWER)
    model = CLIPModel(
        CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=128)
    )
    rng = np.random.default_rng(1)

    def loss_of(rows, pixels):
        chosen = [str(rng.choice(texts[row])) for row in rows]
        found = words(chosen, padding=True, truncation=True, return_tensors="pt")
        return model(pixel_values=pixels, return_loss=True, **found).loss

    steps = len(pictures) // size * epochs
    train(model, loss_of, batches(pictures, size, epochs), steps, 1e-3)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    CLIPImageProcessor(
        size={"shortest_edge": SIZE},
        crop_size={"height": SIZE, "width": SIZE},
        image_mean=MEAN,
        image_std=DEVIATION,
    ).save_pretrained(folder)


KINDS = {"captioner": partial(captioner, epochs=20), "clip": partial(clip, epochs=40)}

if __name__ == "__main__":
    kind, data, folder, *epochs = sys.argv[1:]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    KINDS[kind](*examples(data), folder, **({"epochs": int(epochs[0])} if epochs else {}))
