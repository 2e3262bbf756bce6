"""Learned positions."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.joined_positions import ADD, JoinedPositions
from keras_attn.ops.known_values import known_size, sizes_are_made_up
from keras_attn.ops.positions import positions_from


@keras.saving.register_keras_serializable(package="keras_attn")
class LearnedPositions(JoinedPositions):
    """Adds or concatenates one learned vector per position.

    Args:
        sequence_length: int > 0. Number of positions.
        join: "add" or "concatenate".
        units: int > 0 or None. Width of the vectors; None is the inputs' width D, which adding
            requires.
        initializer: Keras initializer of the table (sequence_length, units).

    Call arguments:
        inputs: float (B, T, D).
        start_index: int scalar or int (B,). Position of the first step; start_index + T ≤
            sequence_length.

    Returns:
        (B, T, D), or (B, T, D + units) concatenated; compute dtype, with the inputs' mask.

    Raises:
        ValueError: another `join`; a size < 1; units ≠ D with "add"; inputs longer than
            `sequence_length`.

    Example:
        >>> tuple(LearnedPositions(7)(ops.zeros((2, 3, 5))).shape)
        (2, 3, 5)

    Source: Gehring et al. 2017, arXiv:1705.03122, 3.1.
    """

    def __init__(
        self, sequence_length, join=ADD, units=None, initializer="random_normal", **kwargs
    ):
        super().__init__(join, units, **kwargs)
        check_sizes(sequence_length=sequence_length)
        self.sequence_length = sequence_length
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        super().build(inputs_shape)
        shape = (self.sequence_length, self.units or inputs_shape[-1])
        self.table = self.add_weight(shape=shape, initializer=self.initializer, name="table")

    def check_length(self, length):
        """Raises ValueError unless `length`, int or None for unknown, fits."""
        if isinstance(length, int) and length > self.sequence_length:
            raise ValueError(
                f"Expected at most {self.sequence_length} positions. Received: {length}"
            )

    def call(self, inputs, start_index=0):
        first = start_index if isinstance(start_index, int) else 0
        length, known = ops.shape(inputs)[1], known_size(inputs, 1)
        if known is not None:
            self.check_length(first + known)
        if sizes_are_made_up():
            vectors = ops.zeros((length, self.table.shape[-1]), self.compute_dtype)
        elif isinstance(start_index, int):
            # The reshape fails if a dynamic length exceeds the table.
            rows = self.table[first : first + length]
            vectors = ops.reshape(rows, (length, self.table.shape[-1]))
        else:
            vectors = ops.take(self.table, positions_from(start_index, length), axis=0)
        return self.joined(inputs, vectors)
