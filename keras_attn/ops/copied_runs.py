"""Where a text that has been copied from a source goes on in it."""

from keras import ops

from keras_attn.ops.cached_attention import hypotheses_of


def copied_runs(tokens, source, continues, longest, recent=None):
    """How many of the last tokens are those before each of the source's, in the same name.

        r_t(s) = 0 where s begins a name or y_t ≠ x_{s−1}, else 1 + r_{t−1}(s − 1)

    Where a text has begun to copy a name, r is greatest at the piece to be copied next, also where
    the name has a piece several times.

    Args:
        tokens: int32 (N, T), y, N = B·K rows, the K sequences of an example are neighbors.
        source: int32 (B, S), x.
        continues: bool (B, S), False where a name begins.
        longest: int ≥ 1. Runs are counted up to this.
        recent: int32 (N, longest − 1), the tokens before these, 0 where there are none. Default:
            none.

    Returns:
        int32 (N, T, S).

    Example:
        >>> continues = ops.array([[False, True, True, True]])
        >>> runs = copied_runs(ops.array([[7, 5, 5]]), ops.array([[5, 3, 5, 5]]), continues, 2)
        >>> ops.convert_to_numpy(runs)[0].tolist()
        [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1]]
    """
    tokens, source = (ops.cast(array, "int32") for array in (tokens, source))
    rows, steps = ops.shape(tokens)
    examples, length = ops.shape(source)
    if recent is None:
        recent = ops.zeros((rows, longest - 1), "int32")
    hypotheses = hypotheses_of(rows, examples)
    history = ops.concatenate([ops.cast(recent, "int32"), tokens], axis=1)
    before = ops.pad(source, [[0, 0], [1, 0]], constant_values=-1)[:, :length]
    before = ops.repeat(before, hypotheses, axis=0)
    continues = ops.repeat(ops.cast(continues, "int32"), hypotheses, axis=0)
    same = ops.cast(ops.equal(history[:, :, None], before[:, None]), "int32") * continues[:, None]
    runs, unbroken = 0, 1
    for lag in range(longest):
        first = longest - 1 - lag
        earlier = ops.pad(same[:, first : first + steps], [[0, 0], [0, 0], [lag, 0]])
        unbroken = unbroken * earlier[..., :length]
        runs = runs + unbroken
    return runs
