"""The hashing trick for n-grams of tokens."""

from keras import ops

MULTIPLIER = 0x9E3779B1 - 2**32
"""2³² over the golden ratio, as a signed 32-bit number: Knuth's multiplicative hash."""


def hashed_ngrams(tokens, n, num_buckets):
    """A bucket for the n tokens that end at each position.

        bucket_t = (Σ_k x_{t−k} m^k) mod 2³² mod num_buckets,  k = 0 … n − 1

    Before the first token there are zeros, as padding has.

    Args:
        tokens: int32 (B, S).
        n: int > 0. Tokens of an n-gram.
        num_buckets: int > 0.

    Returns:
        int32 (B, S), 0 to num_buckets − 1.

    Example:
        >>> [int(bucket) for bucket in hashed_ngrams(ops.array([[5, 7, 5, 7]]), 2, 1009)[0]]
        [5, 526, 1, 526]

    Source: Weinberger et al. 2009, arXiv:0902.2206, 2.
    """
    tokens = ops.cast(tokens, "int32")
    length = ops.shape(tokens)[1]
    hashed = ops.zeros_like(tokens)
    for back in reversed(range(n)):
        earlier = ops.pad(tokens, [(0, 0), (back, 0)])[:, :length]
        hashed = hashed * MULTIPLIER + earlier  # Wraps around.
    return ops.mod(hashed, num_buckets)
