"""A small data-to-text model with weights at random, and a batch for it."""

import keras
import numpy as np

from keras_attn.contracts import SOURCE, TOKENS
from keras_attn.layers import CopyMixture, HybridAttention, MultiplicativeAttention
from keras_attn.models import DataToText, TransformerConfig

VOCABULARY, FIELDS, LENGTH = 13, 5, 5
SIZES = {
    "num_layers": 2,
    "hidden_dim": 6,
    "intermediate_dim": 11,
    "num_heads": 2,
    "key_dim": 3,
    "value_dim": 5,
    "dropout": 0.0,
}


def data_to_text(
    seed=0, vocabulary=VOCABULARY, fields=FIELDS, copies=True, longest_run=3, **changes
):
    """A built model."""
    config = TransformerConfig(vocabulary, **{**SIZES, **changes})
    keras.utils.set_random_seed(seed)
    attention = HybridAttention(MultiplicativeAttention(), fields, 3, 0.2, 0.9)
    copying = CopyMixture(MultiplicativeAttention(), 0.0, longest_run) if copies else None
    model = DataToText(config, attention, copying, num_positions=3)
    model.build()
    random = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    return model


def batch(seed=1):
    """Sets of 3, 2 and 3 facts, 11, 7 and 11 pieces long, and texts of 5."""
    random = np.random.default_rng(seed)
    facts = np.repeat([1, 2, 3], (4, 3, 4))
    roles = np.array([1, 2, 3, 3, 1, 2, 3, 1, 2, 3, 3])
    source = np.zeros((3, 11, 7), "int32")
    source[..., 0] = random.integers(4, VOCABULARY, (3, 11))
    source[..., 1:3] = np.stack([facts, roles], axis=-1)
    source[..., 3] = random.integers(1, 5, (3, 11))
    source[..., 4] = random.integers(0, FIELDS, (3, 3))[:, facts - 1]
    source[..., 5], source[..., 6] = [0, 0, 0, 1] + 6 * [0] + [1], [0, 0, 1, 0] + 5 * [0] + [1, 0]
    source[1, 7:] = 0
    tokens = random.integers(1, VOCABULARY, (3, LENGTH)).astype("int32")
    tokens[0, 1], tokens[2, 3:] = source[0, 2, 0], source[2, 9:, 0]  # Names that are copied.
    return {SOURCE: source, TOKENS: tokens}


def permuted(source, order):
    """Sources with their facts in another order, which keep their numbers' meaning: int32."""
    rows = []
    for row in source:
        parts = [row[row[:, 1] == fact] for fact in order]
        parts = [
            np.concatenate([part[:, :1], 0 * part[:, 1:2] + place + 1, part[:, 2:]], axis=1)
            for place, part in enumerate(parts)
        ]
        moved = np.concatenate(parts)
        rows.append(np.pad(moved, [(0, len(row) - len(moved)), (0, 0)]))
    return np.stack(rows).astype("int32")
