"""Hypotheses ranked by how much they say of what an answer should say."""

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.ops.take_by_row import take_by_row


def rank_by_coverage(result: DecodeResult, wanted, n_best: int) -> DecodeResult:
    """Selects the n hypotheses that contain the most wanted tokens; ties are broken by score.

    Hypotheses that were cut off rank behind all finished ones, with missing ones last. Tokens of a
    forced prefix count. Search with `Beam(width, n_best=width)`, so that the whole beam is ranked.

    Args:
        result: `DecodeResult` of B examples with K hypotheses.
        wanted: int32 (B, W), each token once; PAD_ID for none.
        n_best: int, 1 to K.

    Returns:
        `DecodeResult` of n hypotheses each.

    Raises:
        ValueError: n_best outside 1..K, or wanted tokens of another rank.

    Example:
        >>> tokens = ops.array([[[5, 3, 0], [7, 5, 3], [7, 7, 3]]])
        >>> scores = ops.array([[-1.0, -2.0, -3.0]])
        >>> lengths, token_scores = ops.array([[2, 3, 3]]), ops.zeros((1, 3, 3))
        >>> result = DecodeResult(tokens, lengths, scores, token_scores, None)
        >>> rank_by_coverage(result, ops.array([[5, 7]]), 2).scores.numpy().tolist()
        [[-2.0, -1.0]]
    """
    tokens = result.tokens
    width = tokens.shape[1]
    if not 1 <= n_best <= width:
        raise ValueError(f"Expected n_best from 1 to {width}. Received: n_best={n_best}")
    wanted = ops.convert_to_tensor(wanted, "int32")
    if len(wanted.shape) != 2:
        raise ValueError(f"Expected wanted of shape (B, W). Received: shape={tuple(wanted.shape)}")
    wanted = wanted[:, None, None, :]
    is_used = ops.any(ops.equal(tokens[..., None], wanted) & ops.not_equal(wanted, PAD_ID), axis=2)
    covered = ops.sum(ops.cast(is_used, "int32"), axis=-1)
    ends = ops.any(ops.equal(tokens, END_ID), axis=-1)
    covered = ops.where(ends, covered, -1)
    # Hypotheses with equal coverage keep their order, which is by score.
    rank = covered * width - ops.arange(width, dtype="int32")
    order = ops.cast(ops.top_k(rank, n_best)[1], "int32")
    return DecodeResult(
        *(None if values is None else take_by_row(values, order) for values in result)
    )
