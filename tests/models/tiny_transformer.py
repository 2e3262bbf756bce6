"""A small Transformer with weights at random, a batch for it, and a search of a few steps.

Run as `python -m tests.models.tiny_transformer FILE`, under any backend: writes logits, those of
today's Transformers too, and a gradient.
"""

import sys

import keras
import numpy as np

from keras_attn.contracts import SOURCE, TOKENS
from keras_attn.layers import NextSource
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.ops.smoothed_cross_entropy import smoothed_cross_entropy
from tests.processes import compiled
from tests.slopes import slopes

VOCABULARY, LENGTH = 13, 5
SIZES = {
    "num_layers": 2,
    "hidden_dim": 6,
    "intermediate_dim": 11,
    "num_heads": 2,
    "key_dim": 3,
    "value_dim": 5,
    "max_sequence_length": 17,
    "dropout": 0.0,
}
GATED = {"gated": True, "feed_forward_bias": False, "normalize_first": True}
MODERN = {
    "rotary": {
        **GATED,
        "activation": "silu",
        "normalization": "rms",
        "num_heads": 6,
        "num_key_value_heads": 2,
        "key_dim": 4,
        "positions": "rotary",
        "sliding_window": 3,
        "query_key_normalization": "rms",
        "use_sinks": True,
    },
    "alibi": {
        "normalize_first": True,
        "parallel": True,
        "num_heads": 4,
        "num_key_value_heads": 1,
        "positions": "alibi",
        "soft_cap": 1.7,
        "use_bias": True,
        "query_key_normalization": "l2",
        "use_sinks": True,
    },
    "relative": {
        "activation": "gelu",
        "gated": True,
        "normalization": "rms",
        "epsilon": 0.3,
        "positions": "relative",
        "position_arguments": {"num_buckets": 8, "max_distance": 5},
        "sliding_window": 4,
        "query_key_normalization": "layer",
    },
    "interleaved": {
        **GATED,
        "parallel": True,
        "key_dim": 5,
        "positions": "rotary",
        "position_arguments": {"base": 7.0, "interleaved": True, "units": 4},
        "soft_cap": 0.9,
    },
}
"""Choices of today's Transformers: grouped queries, windows, positions inside attention, gates."""


def transformer(seed=0, weights_layer=-1, **changes):
    """A built model."""
    counted = changes.pop("counted_token", None)
    config = TransformerConfig(VOCABULARY, **{**SIZES, **changes})
    keras.utils.set_random_seed(seed)
    added = None if counted is None else NextSource(counted, config.hidden_dim)
    model = Transformer(config, weights_layer, added)
    model.build()
    random = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.5, weight.shape))
    return model


def batch(seed=1):
    """Sources of 7, 4 and 7 tokens, targets of 5."""
    random = np.random.default_rng(seed)
    source = random.integers(1, VOCABULARY, (3, 7)).astype("int32")
    source[1, 4:] = 0
    tokens = random.integers(1, VOCABULARY, (3, LENGTH)).astype("int32")
    return {SOURCE: source, TOKENS: tokens}


def search(model, source, tokens):
    """Logits (5, N, V) along a prefix, a widening to 3 hypotheses and steps between reorderings."""
    tokens = keras.ops.convert_to_tensor(tokens)
    memory, state = model.start(source, 7)
    result = model.prefill(tokens[:, :2], memory, state)
    logits, state = [keras.ops.repeat(result.logits, 3, axis=0)], model.widen(result.state, 3)
    parents = keras.ops.convert_to_tensor([[0, 0, 1], [2, 1, 0], [1, 1, 1]], dtype="int32")
    for time in range(4):
        words = keras.ops.reshape((tokens[:, time : time + 1] + parents) % VOCABULARY, (-1,))
        result = model.step(words, memory, state)
        logits.append(result.logits)
        state = model.reorder(result.state, parents)
    return keras.ops.stack(logits)


def summed_loss(logits, tokens):
    """Σ of the smoothed cross-entropy of (3, V) logits and the first tokens of a batch."""
    return keras.ops.sum(smoothed_cross_entropy(tokens[:, 0], logits, 0.1))


def main(path):
    inputs = batch()

    def found(**choices):
        model = transformer(num_layers=1, **choices)
        find = compiled(lambda *arrays: search(model, *arrays))
        return keras.ops.convert_to_numpy(find(inputs[SOURCE], inputs[TOKENS]))

    logits, modern = found(), {name: found(**choices) for name, choices in MODERN.items()}
    loss = slopes(lambda logits: (summed_loss(logits, inputs[TOKENS]), []), 1)
    _, _, (slope,) = loss([logits[0, :3]])
    np.savez(path, logits=logits, slope=slope, **modern)


if __name__ == "__main__":
    main(sys.argv[1])
