"""T5's relative position bias."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.relative_positions import PositionBias
from keras_attn.ops.relative_bias import relative_buckets


@keras.saving.register_keras_serializable(package="keras_attn")
class RelativeBias(PositionBias):
    """One learned bias per head and bucket of distances, added to the scores.

        bias_h(t, s) = table[bucket(s − t), h]

    Half of the buckets of a direction hold one distance each, the others grow geometrically up to
    `max_distance`. `MultiHeadAttention(positions=RelativeBias(num_heads))` adds it; T5 shares one
    such layer among all layers of a stack. A saved model keeps it shared;
    `keras.models.clone_model` makes one for each.

    Args:
        num_heads: int > 0. H.
        num_buckets: int ≥ 4, even, or ≥ 2 unless bidirectional. R.
        max_distance: int. Beyond it all distances share a bucket; above the number of distances
            with a bucket of their own.
        bidirectional: bool. Whether keys after the query have buckets of their own, half of all;
            False is for causal attention.
        initializer: Keras initializer of the table (R, H).

    Call arguments:
        query_positions: int (T,) or (B, T).
        key_positions: int (S,) or (B, S).

    Returns:
        float (H, T, S) or (B, H, T, S), compute dtype.

    Raises:
        ValueError: a size out of range.

    Example:
        >>> tuple(RelativeBias(2)(ops.arange(3), ops.arange(5)).shape)
        (2, 3, 5)

    Source: Raffel et al. 2020, arXiv:1910.10683, 2.1.
    """

    def __init__(
        self,
        num_heads,
        num_buckets=32,
        max_distance=128,
        bidirectional=True,
        initializer="random_normal",
        **kwargs,
    ):
        super().__init__(num_heads, **kwargs)
        self.bidirectional = check_flag("bidirectional", bidirectional)
        check_sizes(least=4 if bidirectional else 2, num_buckets=num_buckets)
        if num_buckets % 2:
            raise ValueError(f"Expected an even num_buckets. Received: num_buckets={num_buckets}")
        exact = num_buckets // (4 if bidirectional else 2)
        check_sizes(least=exact + 1, max_distance=max_distance)
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.initializer = keras.initializers.get(initializer)

    def build(self, query_positions_shape=None, key_positions_shape=None):
        shape = (self.num_buckets, self.num_heads)
        self.table = self.add_weight(shape=shape, initializer=self.initializer, name="table")

    def bias(self, query_positions, key_positions):
        sizes = self.num_buckets, self.max_distance, self.bidirectional
        buckets = relative_buckets(query_positions, key_positions, *sizes)
        by_head = ops.take(ops.cast(self.table, self.compute_dtype), buckets, axis=0)
        return ops.moveaxis(by_head, -1, -3)

    def call(self, query_positions, key_positions):
        return self.bias(query_positions, key_positions)
