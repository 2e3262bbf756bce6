"""Attention biases from relations."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer


@keras.saving.register_keras_serializable(package="keras_attn")
class RelationBias(BaseLayer):
    """One learned bias per relation and head, added to the scores of `MultiHeadAttention`.

    Args:
        num_relations: int > 0. R.
        num_heads: int > 0. H.
        initializer: Keras initializer of the table (R, H).

    Call arguments:
        inputs: int (B, T, S). Relation of each query to each key, 0 to R − 1, such as those of
            `ops.fact_relations`.

    Returns:
        float (B, H, T, S), compute dtype: the `attention_bias` of `MultiHeadAttention` and
        `TransformerEncoderBlock`.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> tuple(RelationBias(7, 3)(ops.zeros((2, 5, 11), "int32")).shape)
        (2, 3, 5, 11)

    Source: relation-aware self-attention, Shaw et al. 2018, arXiv:1803.02155, 3. Differs: a bias of
    the score for each relation, as in Raffel et al. 2020, arXiv:1910.10683, 2.1, where the paper
    has vectors beside keys and values.
    """

    def __init__(self, num_relations, num_heads, initializer="zeros", **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_relations=num_relations, num_heads=num_heads)
        self.num_relations, self.num_heads = num_relations, num_heads
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape=None):
        shape = (self.num_relations, self.num_heads)
        self.table = self.add_weight(shape=shape, initializer=self.initializer, name="table")

    def call(self, inputs):
        table = ops.cast(self.table, self.compute_dtype)
        bias = ops.take(table, ops.cast(inputs, "int32"), axis=0)
        return ops.transpose(bias, (0, 3, 1, 2))

    def compute_output_shape(self, inputs_shape):
        batch, queries, keys = inputs_shape
        return (batch, self.num_heads, queries, keys)
