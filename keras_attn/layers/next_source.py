"""The next source step, for decoders that write one symbol for each."""

import keras
from keras import ops

from keras_attn.contracts import PAD_ID
from keras_attn.layers.base_layer import BaseLayer


@keras.saving.register_keras_serializable(package="keras_attn")
class NextSource(BaseLayer):
    """A linear projection of the next source step; each occurrence of the token advances by one.

        n_t = Σ_{i ≤ t} [token_i = c],  x_t = W v_{n_t}

    Past the end, the last step is used.

    Args:
        token: int ≥ 1. c, id of the token that consumes a source step.
        units: int > 0. D, width of the output.

    Call arguments:
        tokens: int32 (B, T), what has been written.
        value: float (B, S, E), the encoder's output.
        count: int scalar or int32 (B,). Occurrences before the first of the tokens.

    Returns:
        (B, T, D), compute dtype, with the tokens' mask.

    Raises:
        ValueError: token is not an int ≥ 1; 0 is padding.

    Example:
        >>> layer = NextSource(7, 3)
        >>> tuple(layer(ops.array([[5, 7]]), ops.zeros((1, 11, 5))).shape)
        (1, 2, 3)

    Source: the deterministic attention of Ma et al. 2017, "Deterministic Attention for
    Sequence-to-Sequence Constituent Parsing". Differs: it complements learned attention; there it
    replaces it.
    """

    def __init__(self, token, units, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        if not isinstance(token, int) or token <= PAD_ID:
            raise ValueError(f"Expected an int token > {PAD_ID}. Received: token={token!r}")
        self.token, self.units = token, units
        self.dense = keras.layers.Dense(
            units, use_bias=False, name="dense", dtype=self.dtype_policy
        )

    def build(self, tokens_shape, value_shape):
        self.dense.build(value_shape)

    def call(self, tokens, value, count=0):
        return self.chosen(self.counts(tokens, count), self.dense(value))

    def compute_output_shape(self, tokens_shape, value_shape):
        return (*tokens_shape, self.units)

    def start(self, value):
        """See `contracts.DecoderInput`: the projected source steps, and counts of 0."""
        return self.dense(value), ops.zeros((ops.shape(value)[0],), "int32")

    def step(self, tokens, memory, state):
        """See `contracts.DecoderInput`."""
        counts = self.counts(tokens, state)
        by_example = ops.reshape(counts, (ops.shape(memory)[0], -1))
        chosen = ops.reshape(self.chosen(by_example, memory), (*ops.shape(tokens), self.units))
        return chosen, counts[:, -1]

    def counts(self, tokens, count=0):
        """int32 (B, T): occurrences of the token up to and including each position."""
        here = ops.cumsum(ops.cast(ops.equal(tokens, self.token), "int32"), axis=1)
        return ops.expand_dims(ops.cast(count, "int32"), -1) + here

    def chosen(self, counts, values):
        """Values (B, S, D) at counts, int32 (B, T): (B, T, D)."""
        length = ops.shape(values)[1]
        places = ops.arange(length, dtype="int32")
        chosen = ops.equal(ops.minimum(counts, length - 1)[..., None], places)
        return ops.matmul(ops.cast(chosen, values.dtype), values)
