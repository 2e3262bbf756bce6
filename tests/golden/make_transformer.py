"""Writes transformer.npz: small torch.nn.Transformer models, their inputs and logits.

    PYTHON tests/golden/make_transformer.py

PYTHON is one with torch 2.13; takes a second. Two models: "pre", as torch has it (a last norm on
both stacks), and "post", whose last norms, which torch always adds and the paper has not, are
taken away. Embeddings and positions are made here; biases are random, those of keys included.
"""

import math
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).with_name("transformer.npz")
VOCABULARY, UNITS, HEADS, HIDDEN, LAYERS = 13, 6, 2, 11, 2


def positions(length):
    """Sines and cosines (length, UNITS)."""
    table = np.zeros((length, UNITS))
    for place in range(length):
        for pair in range(UNITS // 2):
            angle = place / 10000 ** (2 * pair / UNITS)
            table[place, 2 * pair : 2 * pair + 2] = math.sin(angle), math.cos(angle)
    return table


def model(norm):
    """torch's Transformer with random weights, biases included."""
    import torch

    made = torch.nn.Transformer(
        UNITS,
        HEADS,
        LAYERS,
        LAYERS,
        HIDDEN,
        dropout=0.0,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm == "pre",
    )
    if norm == "post":
        made.encoder.norm = made.decoder.norm = None
    for weight in made.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return made.eval()


def main():
    import torch

    torch.manual_seed(3)
    random = np.random.default_rng(3)
    source = random.integers(1, VOCABULARY, (3, 7))
    source[1, 5:] = source[2, 2:] = 0
    tokens = random.integers(1, VOCABULARY, (3, 5))
    embedding = torch.randn(VOCABULARY, UNITS) / math.sqrt(UNITS)
    arrays = {"source": source, "tokens": tokens, "embedding": embedding.numpy()}
    inputs = [
        math.sqrt(UNITS) * embedding[torch.tensor(ids)]
        + torch.tensor(positions(ids.shape[1])).float()
        for ids in (source, tokens)
    ]
    padding = torch.tensor(source == 0)
    future = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    for norm in ("pre", "post"):
        made = model(norm)
        with torch.no_grad():
            hidden = made(
                *inputs,
                tgt_mask=future,
                src_key_padding_mask=padding,
                memory_key_padding_mask=padding,
            )
        arrays[f"{norm}/logits"] = (hidden @ embedding.T).numpy()
        arrays |= {f"{norm}/{name}": array.numpy() for name, array in made.state_dict().items()}
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    main()
