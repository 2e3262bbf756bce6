"""Linear attention: sums over keys instead of a matrix of scores.

    context_t = φ(q_t)ᵀ Σ_s φ(k_s) v_sᵀ / (φ(q_t)ᵀ Σ_s φ(k_s)),  φ(x) = elu(x) + 1

Its weights φ(q_t) · φ(k_s) / Σ_r φ(q_t) · φ(k_r) have no softmax, so the sums over the keys are
taken first, and time and memory are linear in the length.
"""

from typing import Any, NamedTuple

from keras import ops

from keras_attn.ops.attend import LEAST_SCORE
from keras_attn.ops.greatest import greatest
from keras_attn.ops.grouped_product import grouped_product
from keras_attn.ops.masks import causal_mask, zero_masked

CHUNK = 64


class LinearSums(NamedTuple):
    """Sums over the keys seen so far: all that a next step needs of earlier ones.

    Attributes:
        values: float32 (N, G, d_k, d_v). Σ_s φ(k_s) v_sᵀ.
        keys: float32 (N, G, d_k). Σ_s φ(k_s).
    """

    values: Any
    keys: Any


def positive_features(inputs):
    """φ(x) = elu(x) + 1, which is x + 1 where x > 0, else eˣ.

    Args:
        inputs: float (...).

    Returns:
        float32 (...), positive.

    Example:
        >>> ops.convert_to_numpy(positive_features([-1000.0, 0.0, 2.0])).tolist()
        [0.0, 1.0, 3.0]
    """
    inputs = ops.cast(inputs, "float32")
    below = ops.where(inputs > 0, 0.0, inputs)
    return ops.relu(inputs) + ops.exp(below)


def query_features(queries):
    """φ of queries (..., d_k) times a positive number for each, which cancels: float32.

    Without it, queries far below 0 would have no weight left in float32.
    """
    queries = ops.cast(queries, "float32")
    largest = ops.stop_gradient(greatest(queries, LEAST_SCORE, keepdims=True))
    below = ops.where(queries > 0, 0.0, queries)
    return ops.relu(queries) + ops.exp(below - ops.minimum(largest, 0.0))


def key_features(keys, key_mask=None):
    """φ of keys (B, G, S, d_k), 0 where the mask, bool (B, S), is False: float32."""
    mask = None if key_mask is None else key_mask[:, None, :]
    return zero_masked(positive_features(keys), mask)


def linear_attention(query, keys, values, key_mask=None):
    """Linear attention of every query to all keys.

    Args:
        query: float (B, H, T, d_k).
        keys: float (B, G, S, d_k), each for H / G neighboring heads of queries; finite also where
            masked, see `zero_masked`.
        values: float (B, G, S, d_v), likewise.
        key_mask: bool (B, S) or (1, S); True = attend. All, if left out.

    Returns:
        (B, H, T, d_v), dtype of the values; sums in float32. 0 where all keys are masked.

    Example:
        >>> query, keys = ops.ones((2, 3, 5, 4)), ops.ones((2, 3, 7, 4))
        >>> tuple(linear_attention(query, keys, ops.ones((2, 3, 7, 11))).shape)
        (2, 3, 5, 11)

    Source: Katharopoulos et al. 2020, arXiv:2006.16236, 3.2.
    """
    sums = _sums(key_features(keys, key_mask), ops.cast(values, "float32"))
    return ops.cast(_quotient(*_read(query_features(query), sums)), values.dtype)


def causal_linear_attention(query, keys, values, sums, key_mask=None, chunk_size=CHUNK):
    """Linear attention of each query to the keys up to its own, and to those summed before.

    Steps are taken in chunks. A query reads the earlier steps of its chunk one by one, and those
    before the chunk as a sum, so memory is O(n·c) for scores and O(n/c·d_k·d_v) for sums.

    Args:
        query: float (B, H, T, d_k).
        keys: float (B, G, S, d_k), S ≤ T; finite also where masked.
        values: float (B, G, S, d_v), likewise.
        sums: `LinearSums` over the keys before, which lead with B.
        key_mask: bool (B, S) or (1, S); True = attend. All, if left out.
        chunk_size: int > 0. c, steps of a chunk.

    Returns:
        context: (B, H, T, d_v), dtype of the values; 0 where all keys seen are masked.
        sums: `LinearSums`, over these keys too.

    Source: Katharopoulos et al. 2020, arXiv:2006.16236, 3.3. Differs: chunks instead of a
    sum at each step.
    """
    length = ops.shape(query)[2]
    chunk = max(1, min(chunk_size, length)) if isinstance(length, int) else chunk_size
    count = (length + chunk - 1) // chunk
    features, dtype = query_features(query), values.dtype
    steps = (features, key_features(keys, key_mask), ops.cast(values, "float32"))
    query, keys, values = (_chunks(part, count, chunk) for part in steps)
    totals = LinearSums(
        *(
            ops.cumsum(ops.concatenate([before[:, None], added], axis=1), axis=1)
            for before, added in zip(sums, _sums(keys, values))
        )
    )
    scores = grouped_product(query, keys, "float32", transposed=True)
    scores = ops.where(causal_mask(chunk, chunk), scores, 0.0)
    outer, weight = _read(query, LinearSums(*(total[:, :-1] for total in totals)))
    context = _quotient(
        outer + grouped_product(scores, values, "float32"),
        weight + ops.sum(scores, axis=-1, keepdims=True),
    )
    last = LinearSums(*(total[:, -1] for total in totals))
    return ops.cast(_joined(context, length), dtype), last


def linear_attention_weights(query, keys, mask=None):
    """The weights that linear attention implies, in O(n²): to look at, or for any mask of pairs.

        α_ts = φ(q_t) · φ(k_s) / Σ_r φ(q_t) · φ(k_r)

    Args:
        query: float (B, H, T, d_k).
        keys: float (B, G, S, d_k), finite also where masked.
        mask: bool, broadcastable to (B, H, T, S); True = attend.

    Returns:
        float32 (B, H, T, S); rows sum to 1, or are all 0 where fully masked.
    """
    scores = grouped_product(query_features(query), positive_features(keys), "float32", True)
    scores = scores if mask is None else ops.where(mask, scores, 0.0)
    return _quotient(scores, ops.sum(scores, axis=-1, keepdims=True))


def _sums(keys, values):
    """`LinearSums` of features of keys (…, G, S, d_k) and of values (…, G, S, d_v)."""
    return LinearSums(ops.matmul(ops.swapaxes(keys, -1, -2), values), ops.sum(keys, axis=-2))


def _read(query, sums):
    """Numerator (…, H, T, d_v) and denominator (…, H, T, 1) of features of queries."""
    numerator = grouped_product(query, sums.values, "float32")
    return numerator, grouped_product(query, sums.keys[..., None], "float32")


def _quotient(numerator, denominator):
    """Both are scaled first: JAX's gradient divides by the denominator's square, which may be 0."""
    some = denominator > 0
    scale = ops.stop_gradient(ops.where(some, denominator, 1.0))
    return (numerator / scale) / ops.where(some, denominator / scale, 1.0)


def _chunks(inputs, count, chunk):
    """(B, H, T, d) to (B, count, H, chunk, d), with 0 after the end."""
    batch, heads, length, _ = ops.shape(inputs)
    padded = ops.pad(inputs, [(0, 0), (0, 0), (0, count * chunk - length), (0, 0)])
    split = ops.reshape(padded, (batch, heads, count, chunk, inputs.shape[-1]))
    return ops.transpose(split, (0, 2, 1, 3, 4))


def _joined(chunks, length):
    """(B, count, H, chunk, d) to (B, H, T, d)."""
    batch, count, heads, chunk, units = ops.shape(chunks)
    joined = ops.transpose(chunks, (0, 2, 1, 3, 4))
    joined = ops.reshape(joined, (batch, heads, count * chunk, units))
    return joined[:, :, :length]
