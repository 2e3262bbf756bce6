"""Scaled dot-product attention for callers that need no weights."""

import keras
from keras import ops

from keras_attn.ops.attend import attend
from keras_attn.ops.greatest import greatest
from keras_attn.ops.masks import as_mask
from keras_attn.ops.scores import scaled_dot_score

LEAST_QUERIES = 64
"""Queries from which on PyTorch's kernel is faster on a CPU."""


def attention_context(query, keys, values, mask=None, bias=None):
    """The context of scaled dot-product attention, by the backend's fused kernel if it has one.

        context_t = Σ_s softmax_s(q_t · k_s / √d_k + b_ts) v_s

    A fused kernel keeps no (T, S) weights in memory. PyTorch's runs on accelerators, and on a CPU
    for 64 queries or more; cuDNN's runs on JAX with an NVIDIA GPU in 16 bits. Elsewhere, and after
    `keras.config.disable_flash_attention()`, scores, softmax and sum follow one after the other, as
    in `attend`.

    Args:
        query: float (B, H, T, d_k).
        keys: float (B, G, S, d_k), each for H / G neighboring heads of queries.
        values: float (B, G, S, d_v), finite also where masked; see `zero_masked`.
        mask: bool, broadcastable to (B, H, T, S); True = attend. None: no mask.
        bias: float, broadcastable to (B, H, T, S), added to the scores; None for none.

    Returns:
        (B, H, T, d_v), dtype of the values; 0 where fully masked.

    Example:
        >>> query, keys = ops.ones((2, 6, 3, 5)), ops.ones((2, 2, 7, 5))
        >>> tuple(attention_context(query, keys, keys).shape)
        (2, 6, 3, 5)

    Source: Dao et al. 2022, arXiv:2205.14135; Rabe and Staats 2021, arXiv:2112.05682.
    """
    query, keys, values = map(ops.convert_to_tensor, (query, keys, values))
    fused = _fused_kernel(query, keys, values, mask is not None or bias is not None)
    if fused is None:
        scores = scaled_dot_score(query, keys)
        scores = scores if bias is None else scores + ops.cast(bias, scores.dtype)
        return attend(scores, values, mask)[0]
    some = None
    if mask is not None:
        mask = _of_four_axes(as_mask(mask))
        some = ops.any(mask, axis=-1, keepdims=True)
        # A row without a key would be NaN, or its gradient.
        mask = ops.logical_or(mask, ops.logical_not(some))
    if bias is not None:
        bias = ops.cast(_near_zero(_of_four_axes(bias), mask), query.dtype)
    context = fused(query, keys, values, mask, bias)
    return context if some is None else ops.where(some, context, 0)


def _of_four_axes(array):
    """A tensor of at most four axes, with leading ones of size 1."""
    array = ops.convert_to_tensor(array)
    return ops.reshape(array, (1,) * (4 - len(array.shape)) + tuple(ops.shape(array)))


def _near_zero(bias, mask):
    """A bias less the largest that a row may take, which changes no weight: far from 0, a cast to
    16 bits would round whole units away."""
    bias = ops.cast(bias, "float32")
    allowed = bias if mask is None else ops.where(mask, bias, float("-inf"))
    largest = ops.stop_gradient(greatest(allowed, float("-inf"), keepdims=True))
    return bias - ops.where(largest > float("-inf"), largest, 0.0)


def _fused_kernel(query, keys, values, is_biased):
    """A function of query, keys, values, mask and bias; None where there is no kernel."""
    if keras.config.is_flash_attention_enabled() is False:
        return None
    if keras.backend.backend() == "torch":
        return _torch_attention if _gains_on_torch(query) else None
    if keras.backend.backend() == "jax" and _fits_cudnn(query, keys, values, is_biased):
        return _cudnn_attention
    return None


def _gains_on_torch(query):
    return query.device.type != "cpu" or query.shape[2] >= LEAST_QUERIES


def _torch_attention(query, keys, values, mask, bias):
    import torch

    if bias is not None:
        mask = bias if mask is None else torch.where(mask, bias, float("-inf"))
    grouped = query.shape[1] != keys.shape[1]
    attend_fused = torch.nn.functional.scaled_dot_product_attention
    return attend_fused(query, keys, values, mask, enable_gqa=grouped)


def _fits_cudnn(query, keys, values, is_biased):
    """Whether cuDNN's kernel takes arrays of these shapes, under a gradient too."""
    import jax

    capability = getattr(jax.devices()[0], "compute_capability", "")
    if not capability[:1].isdigit() or float(capability) < 8 or query.dtype.itemsize != 2:
        return False  # No NVIDIA GPU, or one before Ampere.
    width = keys.shape[-1]
    is_even = query.shape[2] % 2 == keys.shape[2] % 2 == 0
    return width == values.shape[-1] <= 128 and width % 8 == 0 and (is_even or not is_biased)


def _cudnn_attention(query, keys, values, mask, bias):
    import jax

    lengths = query.shape[2], keys.shape[2]
    mask, bias = (
        None if array is None else ops.broadcast_to(array, (*array.shape[:2], *lengths))
        for array in (mask, bias)
    )
    swapped = (ops.swapaxes(array, 1, 2) for array in (query, keys, values))
    context = jax.nn.dot_product_attention(*swapped, bias, mask, implementation="cudnn")
    return ops.swapaxes(context, 1, 2)
