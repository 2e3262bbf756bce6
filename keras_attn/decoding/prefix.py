"""Forced prefixes: the first tokens of an answer."""

from keras import ops

from keras_attn.contracts import PAD_ID, DecodeResult


def checked_prefix(prefix):
    """`prefix` as int32 (B, P); ValueError unless of integers, P static and at least 1."""
    shape = tuple(getattr(prefix, "shape", ()))
    if len(shape) != 2 or not shape[1]:
        raise ValueError(f"Expected a prefix (B, P) with a static P >= 1. Received: shape={shape}")
    if "int" not in str(prefix.dtype):
        raise ValueError(f"Expected a prefix of integers. Received: dtype={prefix.dtype}")
    return ops.cast(prefix, "int32")


def with_prefix(prefix, result):
    """The answer with its prefix before it; empty hypotheses stay empty.

    Args:
        prefix: int32 (B, P); rows may end with PAD_ID.
        result: `DecodeResult` of T tokens beyond the prefix.

    Returns:
        `DecodeResult` of P + T tokens.
    """
    rows, width = result.tokens.shape[1], prefix.shape[1]
    length = width + ops.shape(result.tokens)[2]
    forced = ops.sum(ops.cast(ops.not_equal(prefix, PAD_ID), "int32"), axis=1)[:, None, None]
    missing = ops.equal(result.lengths, 0)
    place = ops.arange(length, dtype="int32") - forced
    place = ops.broadcast_to(place, (ops.shape(prefix)[0], rows, length))
    source = ops.clip(place, 0, length - width - 1)
    produced = (place >= 0) & (place < length - width)
    prefix = ops.pad(prefix, ((0, 0), (0, length - width)))[:, None]
    tokens = ops.take_along_axis(result.tokens, source, axis=2)
    scores = ops.take_along_axis(result.token_scores, source, axis=2)
    tokens = ops.where(produced, tokens, ops.where(missing[..., None], PAD_ID, prefix))
    weights = result.weights
    if weights is not None:
        weights = ops.take_along_axis(weights, source[..., None], axis=2)
        weights = ops.where(produced[..., None], weights, 0.0)
    return DecodeResult(
        tokens=tokens,
        lengths=ops.where(missing, 0, result.lengths + forced[..., 0]),
        scores=result.scores,
        token_scores=ops.where(produced, scores, 0.0),
        weights=weights,
    )
