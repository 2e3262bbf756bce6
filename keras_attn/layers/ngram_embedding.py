"""Embeddings of n-grams."""

import keras
from keras import ops

from keras_attn.checks import check_flag, check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.hashed_ngrams import hashed_ngrams


@keras.saving.register_keras_serializable(package="keras_attn")
class NGramEmbedding(BaseLayer):
    """A learned vector for the n tokens that end at each position, hashed into buckets.

        e_t = E[hash(x_{t−n+1} … x_t)]

    Added to embeddings of tokens, it tells "not good" from "good" with nothing but a table. Rare
    n-grams share buckets; a few times as many buckets as there are different n-grams keep most of
    them apart.

    Args:
        num_buckets: int > 0.
        output_dim: int > 0. D.
        n: int > 0. Tokens of an n-gram.
        embeddings_initializer: Keras initializer of the table. By default an n-gram means nothing
            until something is learned about it.
        mask_zero: bool. Whether token 0 is padding, to be masked.

    Call arguments:
        inputs: int (B, S), tokens.

    Returns:
        (B, S, D), compute dtype; with mask_zero it carries the mask inputs ≠ 0.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> tuple(NGramEmbedding(1009, 5)(ops.ones((2, 3), "int32")).shape)
        (2, 3, 5)

    Source: Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification", arXiv:1607.01759,
    2.2.
    """

    def __init__(
        self,
        num_buckets,
        output_dim,
        n=2,
        embeddings_initializer="zeros",
        mask_zero=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_sizes(num_buckets=num_buckets, output_dim=output_dim, n=n)
        self.num_buckets, self.output_dim, self.n = num_buckets, output_dim, n
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.mask_zero = check_flag("mask_zero", mask_zero)

    def build(self, inputs_shape=None):
        self.table = self.add_weight(
            shape=(self.num_buckets, self.output_dim),
            initializer=self.embeddings_initializer,
            name="table",
        )

    def call(self, inputs):
        buckets = hashed_ngrams(inputs, self.n, self.num_buckets)
        return ops.cast(ops.take(self.table, buckets, axis=0), self.compute_dtype)

    def compute_mask(self, inputs, mask=None):
        """inputs ≠ 0 with mask_zero; else the mask that the inputs carry, if they do."""
        return ops.not_equal(inputs, 0) if self.mask_zero else mask

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape, self.output_dim)
