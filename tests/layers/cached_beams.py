"""Steps of several hypotheses through a layer's cache equal the whole sequences.

Run as `python -m tests.layers.cached_beams` under any backend.
"""

import numpy as np
from keras import ops

from keras_attn.layers import AlibiBias, DifferentialAttention, MultiHeadAttention, RotaryPositions
from keras_attn.ops.cached_attention import next_steps, own_caches, owning_from
from keras_attn.ops.hypotheses import gather_hypotheses

EXAMPLES, HYPOTHESES, WIDTH = 2, 3, 5
LAYERS = {
    kind: lambda kind=kind: MultiHeadAttention(
        6, 4, 5, num_key_value_heads=2, positions=RotaryPositions(), query_key_normalization=kind
    )
    for kind in ("layer", "rms", "l2")
}
LAYERS["sinks"] = lambda: MultiHeadAttention(4, 3, 5, num_key_value_heads=2, use_sinks=True)
LAYERS["differential"] = lambda: DifferentialAttention(
    4, 8, 5, positions=RotaryPositions(), num_key_value_heads=2
)
LAYERS["biased_differential"] = lambda: DifferentialAttention(4, 6, positions=AlibiBias(4))


def randomized(layer, *shapes, seed=3):
    """The layer, built for inputs of these shapes, with weights at random."""
    random = np.random.default_rng(seed)
    layer.build(*shapes)
    for weight in layer.trainable_weights:
        weight.assign(random.normal(0.3, 0.7, weight.shape))
    return layer


def check_beams(layer, counts=(2, 1, 1, 3)):
    """Hypotheses that go on from each other, so many steps at once."""
    random, rows = np.random.default_rng(7), EXAMPLES * HYPOTHESES
    layer, time = randomized(layer, (None, None, WIDTH)), 0
    cache = layer.empty_cache(rows, sum(counts) + 1)
    ancestors = own_caches(EXAMPLES, HYPOTHESES, sum(counts) + 1)
    inputs = np.zeros((rows, 0, WIDTH), "float32")
    for count in counts:
        new = random.normal(size=(rows, count, WIDTH)).astype("float32")
        inputs = np.concatenate([inputs, new], axis=1)
        coming = next_steps(ancestors, ops.full((rows,), time, "int32"), count, layer.groups)
        outputs, cache = layer.extend(ops.reshape(new, (-1, WIDTH)), cache, coming)
        expected = ops.convert_to_numpy(layer(inputs, use_causal_mask=True))[:, -count:]
        outputs = ops.convert_to_numpy(outputs).reshape(expected.shape)
        np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)
        time += count
        parents = ops.convert_to_tensor(random.integers(0, HYPOTHESES, (EXAMPLES, HYPOTHESES)))
        inputs, ancestors = gather_hypotheses((inputs, ancestors), ops.cast(parents, "int32"))
        inputs = ops.convert_to_numpy(inputs)
        ancestors = owning_from(ancestors, ops.full((rows,), time, "int32"))


def main():
    for name in ("rms", "sinks", "biased_differential"):
        check_beams(LAYERS[name]())


if __name__ == "__main__":
    main()
