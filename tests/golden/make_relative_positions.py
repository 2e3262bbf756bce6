"""Writes relative_positions.npz: what transformers makes of rotary scalings, turns and buckets.

    PYTHON tests/golden/make_relative_positions.py

PYTHON is one with transformers 5.24 and torch 2.13; takes some seconds.
"""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).with_name("relative_positions.npz")
LLAMA = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}
YARN = {"rope_type": "yarn", "original_max_position_embeddings": 4096}
SCALINGS = [
    (128, 500000.0, {**LLAMA, "low_freq_factor": 1.0, "high_freq_factor": 4.0}),
    (64, 10000.0, {**LLAMA, "factor": 32.0, "low_freq_factor": 2.0, "high_freq_factor": 3.0}),
    (128, 10000.0, {**YARN, "factor": 4.0}),
    (64, 1000000.0, {**YARN, "factor": 16.0, "beta_fast": 20.0, "beta_slow": 2.0}),
    (64, 10000.0, {**YARN, "factor": 40.0, "mscale": 0.7, "mscale_all_dim": 1.3}),
    (64, 150000.0, {**YARN, "factor": 32.0, "truncate": False, "attention_factor": 1.25}),
    (96, 10000.0, {"rope_type": "linear", "factor": 3.0}),
]
"""Width, base and scaling."""
BUCKETS = [(32, 128, True), (32, 128, False), (8, 20, True), (16, 100, False)]
"""num_buckets, max_distance, bidirectional."""


def frequencies(units, base, scaling):
    """Frequencies and attention factor."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=units,
        num_attention_heads=1,
        max_position_embeddings=scaling.get("original_max_position_embeddings", 512),
        rope_parameters={**scaling, "rope_theta": base},
    )
    inverse, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu")
    return inverse.numpy(), factor


def turned(arrays):
    """Queries at positions, turned in halves and in neighbors."""
    import torch
    from transformers.models.glm.modeling_glm import apply_rotary_pos_emb as neighbors
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as halves

    query, positions = np.random.default_rng(3).normal(size=(2, 3, 5, 8)), np.arange(7, 12)
    angles = positions[:, None] * 10000.0 ** (-np.arange(0, 8, 2) / 8)
    both = torch.tensor(np.concatenate([angles, angles], -1))[None]
    arrays["query"], arrays["positions"] = query.astype("float32"), positions
    for name, function in (("halves", halves), ("neighbors", neighbors)):
        given = torch.tensor(arrays["query"]), torch.tensor(arrays["query"])
        arrays[name] = function(*given, both.cos(), both.sin())[0].numpy().astype("float32")


def buckets(count, most, bidirectional):
    """Buckets of keys 200 before to 200 after a query."""
    import torch
    from transformers.models.t5.modeling_t5 import T5Attention

    away = torch.arange(-200, 201)
    return T5Attention._relative_position_bucket(away, bidirectional, count, most).numpy()


def main():
    arrays = {}
    turned(arrays)
    for place, (units, base, scaling) in enumerate(SCALINGS):
        values, factor = frequencies(units, base, scaling)
        arrays[f"frequencies_{place}"], arrays[f"factor_{place}"] = values, factor
        arrays[f"scaling_{place}"] = json.dumps([units, base, scaling])
    for place, sizes in enumerate(BUCKETS):
        arrays[f"buckets_{place}"] = buckets(*sizes).astype("int16")
        arrays[f"sizes_{place}"] = json.dumps(sizes)
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    main()
