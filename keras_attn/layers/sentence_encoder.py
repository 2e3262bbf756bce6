"""Sentences as vectors."""

import keras
from keras import ops

from keras_attn.checks import check_choice, check_sizes
from keras_attn.contracts import PAD_ID
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.ops.memory_network import ENCODINGS, POSITION, encode_sentences


@keras.saving.register_keras_serializable(package="keras_attn")
class SentenceEncoder(BaseLayer):
    """Embeds the words of a sentence and sums them, in their order or as a bag.

    The nil word, token 0, has the vector 0, whatever its row of the table holds.

    Args:
        input_dim: int > 0. V, size of the vocabulary.
        output_dim: int > 0. D.
        encoding: "position" or "bag", see `ops.memory_network.encode_sentences`.
        initializer: Keras initializer of the table (V, D); None: normal, standard deviation 0.1.

    Call arguments:
        inputs: int (..., W), tokens of each sentence, 0 after it.

    Returns:
        (..., D), compute dtype, summed in float32; 0 for a sentence without words. It carries the
        mask of the sentences with words.

    Raises:
        ValueError: a size < 1 or another encoding.

    Example:
        >>> tuple(SentenceEncoder(13, 5)(ops.ones((2, 7, 3), "int32")).shape)
        (2, 7, 5)

    Source: Sukhbaatar et al. 2015, arXiv:1503.08895, 4.1.
    """

    def __init__(self, input_dim, output_dim, encoding=POSITION, initializer=None, **kwargs):
        super().__init__(**kwargs)
        check_sizes(input_dim=input_dim, output_dim=output_dim)
        check_choice("encoding", encoding, ENCODINGS)
        self.input_dim, self.output_dim, self.encoding = input_dim, output_dim, encoding
        self.initializer = small_normal(initializer)

    def build(self, inputs_shape=None):
        self.table = self.add_weight(
            shape=(self.input_dim, self.output_dim),
            initializer=self.initializer,
            autocast=False,
            name="table",
        )

    def call(self, inputs):
        tokens = ops.cast(inputs, "int32")
        mask = ops.not_equal(tokens, PAD_ID)
        vectors = encode_sentences(ops.take(self.table, tokens, axis=0), mask, self.encoding)
        return ops.cast(vectors, self.compute_dtype)

    def compute_mask(self, inputs, mask=None):
        """Sentences with a word."""
        return ops.any(ops.not_equal(inputs, PAD_ID), axis=-1)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.output_dim)


def small_normal(initializer):
    """A Keras initializer; None is the paper's, a normal distribution of standard deviation 0.1."""
    if initializer is None:
        return keras.initializers.RandomNormal(stddev=0.1)
    return keras.initializers.get(initializer)
