"""Multi-head latent attention: keys and values of all heads from one vector c for each step.

    score_h(t, s) = (q_h · W_h^UK c_s + q_h^R · k_s^R) / √(d_k + d_r),  value_h(s) = W_h^UV c_s

A cache needs c and the one rotary key k^R only, if the kernels of keys and values are absorbed:
q_h · W_h^UK c_s = (W_h^UKᵀ q_h) · c_s, and Σ_s α_s W_h^UV c_s = W_h^UV Σ_s α_s c_s.
"""

import math

from keras import ops

from keras_attn.ops.batched_product import batched_product
from keras_attn.ops.cached_attention import attend_slots
from keras_attn.ops.scores import dot_score


def latent_score(query, rotary_query, keys, rotary_keys):
    """score(q, k) = (q · k + q^R · k^R) / √(d_k + d_r).

    Args:
        query: float (B, H, T, d_k).
        rotary_query: float (B, H, T, d_r), turned.
        keys: float (B, H, S, d_k).
        rotary_keys: float (B, 1, S, d_r), turned; of all heads.

    Returns:
        float32 (B, H, T, S).

    Source: DeepSeek-AI 2024, arXiv:2405.04434, 2.1.3.
    """
    scale = _scale(query, rotary_query)
    turned = dot_score(rotary_query * scale, rotary_keys)
    return dot_score(query * scale, keys) + turned


def attend_latents(query, rotary_query, latents, steps, key_kernel, value_kernel):
    """Attention of the steps of an example over caches of latents, with absorbed kernels.

    Args:
        query: float (B, H, K·P, d_k).
        rotary_query: float (B, H, K·P, d_r), turned.
        latents: float (N, 1, L, d_c + d_r), c and the turned rotary key of each step, what
            `write_slots` says is seen.
        steps: `NextSteps`.
        key_kernel: float (H, d_k, d_c). W^UK, transposed.
        value_kernel: float (H, d_c, d_v). W^UV.

    Returns:
        (B, H, K·P, d_v), dtype of the latents.

    Source: DeepSeek-AI 2024, arXiv:2405.04434, 2.1.2 and C.
    """
    dtype, scale = latents.dtype, _scale(query, rotary_query)
    absorbed = batched_product(query, key_kernel, dtype)
    scale = scale * math.sqrt(latents.shape[-1])  # Which `attend_slots` divides by.
    query = ops.concatenate([absorbed, rotary_query], axis=-1) * scale
    # The rotary keys are summed, too: less work than a copy of the caches without them.
    context = attend_slots(query, latents, latents, steps)
    return batched_product(context[..., : value_kernel.shape[1]], value_kernel, dtype)


def _scale(query, rotary_query):
    return 1 / math.sqrt(query.shape[-1] + rotary_query.shape[-1])
