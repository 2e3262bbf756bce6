"""The hypotheses that say most of what an answer should say."""

from keras import ops

from keras_attn.contracts import END_ID, PAD_ID, DecodeResult
from keras_attn.ops.take_by_row import take_by_row


def most_covering(result: DecodeResult, wanted, n_best: int) -> DecodeResult:
    """The n hypotheses that have most of the wanted tokens, those that have as many by score.

    Hypotheses that end come before those that were cut off. A search with `Beam(width,
    n_best=width)` finds more of them than it would return by score alone.

    Args:
        result: `DecodeResult` of B examples with K hypotheses.
        wanted: int32 (B, W), each token once; PAD_ID for none.
        n_best: int, 1 to K.

    Returns:
        `DecodeResult` of n hypotheses each.

    Raises:
        ValueError: n_best outside 1..K.

    Example:
        >>> tokens = ops.array([[[5, 3, 0], [7, 5, 3], [7, 7, 3]]])
        >>> scores = ops.array([[-1.0, -2.0, -3.0]])
        >>> lengths, token_scores = ops.array([[2, 3, 3]]), ops.zeros((1, 3, 3))
        >>> result = DecodeResult(tokens, lengths, scores, token_scores, None)
        >>> most_covering(result, ops.array([[5, 7]]), 2).scores.numpy().tolist()
        [[-2.0, -1.0]]
    """
    tokens = result.tokens
    width = tokens.shape[1]
    if not 1 <= n_best <= width:
        raise ValueError(f"Expected n_best from 1 to {width}. Received: n_best={n_best}")
    wanted = ops.convert_to_tensor(wanted, "int32")[:, None, None, :]
    said = ops.any(ops.equal(tokens[..., None], wanted) & ops.not_equal(wanted, PAD_ID), axis=2)
    covered = ops.sum(ops.cast(said, "int32"), axis=-1)
    ends = ops.any(ops.equal(tokens, END_ID), axis=-1)
    covered = ops.where(ends, covered, -1)
    # The hypotheses are by score, so no two have the same rank.
    rank = covered * width - ops.arange(width, dtype="int32")
    order = ops.top_k(rank, n_best)[1]
    return DecodeResult(
        *(None if values is None else take_by_row(values, order) for values in result)
    )
