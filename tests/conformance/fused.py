"""Attention by the backend's fused kernel equals attention by scores, softmax and sum.

Run as `python -m tests.conformance.fused` under JAX or PyTorch; the kernel then runs at every size.
That of cuDNN, which needs a GPU, is played by JAX's own on the CPU.
"""

import functools
import importlib
from dataclasses import replace

import keras
import numpy as np
from keras import ops

from keras_attn.layers import MultiHeadAttention, RelativeBias
from keras_attn.models import TransformerDecoder, TransformerEncoder
from keras_attn.ops import (
    attend,
    attention_context,
    causal_mask,
    linear_attention,
    scaled_dot_score,
)
from tests.conformance import exclusion
from tests.conformance.registry import CAUSAL, ITSELF, KEYS, QUERY, TRANSFORMER, WIDE_KEYS, Case
from tests.slopes import slopes

KERNEL = importlib.import_module("keras_attn.ops.attention_context")
calls = []
"""A name for each call of a kernel."""


def always_fuse():
    """Makes the kernel run at every size, and counts its calls."""
    if keras.backend.backend() == "torch":
        KERNEL.LEAST_QUERIES = 0
        kernel = KERNEL._torch_attention
    else:
        import jax

        plain = jax.nn.dot_product_attention
        jax.nn.dot_product_attention = lambda *given, implementation: plain(*given)
        KERNEL._fits_cudnn = lambda query, keys, values, _: keys.shape[-1] == values.shape[-1]
        kernel = KERNEL._cudnn_attention

    @functools.wraps(kernel)
    def counted(*given):
        calls.append(kernel.__name__)
        return kernel(*given)

    setattr(KERNEL, kernel.__name__, counted)


def masks(random):
    """By name: None; of keys, with one row of none; of pairs by head; causal with other lengths."""
    padding = random.random((2, 1, 1, 7)) < 0.6
    padding[1] = False
    pairs = random.random((2, 6, 5, 7)) < 0.5
    pairs[0, 0, 1] = False
    return {"none": None, "padding": padding, "pairs": pairs, "causal": causal_mask(5, 7)}


def by_scores(query, keys, values, mask, bias):
    scores = scaled_dot_score(query, keys)
    return attend(scores if bias is None else scores + bias, values, mask)[0]


def loss(attention, mask, query, keys, values, bias=None):
    output = attention(query, keys, values, mask, bias)
    return ops.sum(ops.sin(output)), [output]


def check_kernel():
    """Outputs and gradients, for grouped heads, masks and biases."""
    random = np.random.default_rng(3)
    query, keys, values = (
        random.normal(size=(2, *shape)).astype("float32")
        for shape in ((6, 5, 8), (2, 7, 8), (2, 7, 8))
    )
    biases = {"none": None, "heads": (1, 6, 5, 7), "pairs": (5, 7), "keys": (7,)}
    for name, mask in masks(random).items():
        mask = None if mask is None else ops.convert_to_tensor(mask)
        for kind, shape in biases.items():
            given = [query, keys, values]
            if shape is not None:
                given.append(random.normal(size=shape).astype("float32"))
            found = [
                slopes(functools.partial(loss, attention, mask), len(given))(given)
                for attention in (attention_context, by_scores)
            ]
            exclusion.check_equal(*found, f"{name}, bias of {kind}")


def check_half():
    """In bfloat16, within its rounding."""
    random = np.random.default_rng(5)
    arrays = [ops.cast(random.normal(size=(2, 3, n, 8)), "bfloat16") for n in (5, 7, 7)]
    bias = ops.convert_to_tensor(random.normal(size=(3, 5, 7)), "float32")
    fused, plain = (
        ops.convert_to_numpy(ops.cast(attention(*arrays, None, bias), "float32"))
        for attention in (attention_context, by_scores)
    )
    np.testing.assert_allclose(fused, plain, atol=0.03)


def check_far_keys():
    """A bias far from 0 is not rounded away in bfloat16."""
    random, length = np.random.default_rng(7), 512
    query, keys = (ops.cast(random.normal(size=(1, 3, n, 8)), "bfloat16") for n in (2, length))
    bias = ops.convert_to_tensor(-0.4 * np.arange(length)[::-1] - 3000, "float32")
    mask = ops.arange(length) < 9
    exact = [ops.cast(array, "float32") for array in (query, keys, keys)]
    fused, plain = (
        ops.convert_to_numpy(ops.cast(answer, "float32"))
        for answer in (
            attention_context(query, keys, keys, mask, bias),
            by_scores(*exact, mask, bias),
        )
    )
    np.testing.assert_allclose(fused, plain, atol=0.03)


def check_small_features():
    """Gradients of linear attention are finite where features are close to 0, and rows sum to 1."""
    query, keys = (np.full((1, 1, n, 2), -45.0, "float32") for n in (3, 5))
    values = np.random.default_rng(9).normal(size=(1, 1, 5, 2)).astype("float32")

    def total(*given):
        context = linear_attention(*given)
        return ops.sum(ops.sin(context)), [context]

    _, [context], gradients = slopes(total, 3)([query, keys, values])
    np.testing.assert_allclose(context[0, 0, 0], values[0, 0].mean(axis=0), rtol=1e-4)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


CONFIG = replace(TRANSFORMER, value_dim=TRANSFORMER.key_dim)


def make_heads(**options):
    return MultiHeadAttention(6, 8, num_key_value_heads=2, **options)


LAYERS = {
    "fused_self": Case(make_heads, (KEYS,), (), CAUSAL, **ITSELF),
    "fused_relative": Case(
        lambda **k: make_heads(positions=RelativeBias(6), **k), (KEYS,), **ITSELF
    ),
    "fused_key": Case(make_heads, (QUERY, WIDE_KEYS, KEYS), scores=True),
    "fused_encoder": Case(lambda **k: TransformerEncoder(CONFIG, **k), (KEYS,), scores=True),
    "fused_decoder": Case(
        lambda **k: TransformerDecoder(CONFIG, **k), ((2, 11), KEYS), ((0, 17),), scores=True
    ),
}


def check_layers():
    """Layers answer the same whether or not weights are requested, and exclude what is masked."""
    for name, case in LAYERS.items():
        layer, arrays = case.make(), case.arrays()
        options = {**case.options(), "return_attention_scores": True}
        expected = keras.tree.flatten(layer(*arrays, **options))[0]
        before = len(calls)
        outputs = layer(*arrays, **{**options, "return_attention_scores": False})
        assert len(calls) > before, name
        expected, outputs = map(ops.convert_to_numpy, (expected, outputs))
        np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5, err_msg=name)
    exclusion.ROWS.update({name: replace(case, scores=False) for name, case in LAYERS.items()})
    exclusion.check_layers(LAYERS)


def main():
    always_fuse()
    check_kernel()
    check_half()
    check_far_keys()
    check_small_features()
    assert len(calls) > 12, calls
    check_layers()
    exclusion.check_memories()


if __name__ == "__main__":
    main()
