"""Fields, and positions in them."""

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer


@keras.saving.register_keras_serializable(package="keras_attn")
class FieldPositions(BaseLayer):
    """Adds to each word the vectors of its field and of its position in the field's value.

        x_i = w_i + F[field_i] + P⁺[start_i] + P⁻[end_i]

    Args:
        num_fields: int > 0. F.
        num_positions: int > 0. Positions with a vector; later ones share the last.
        initializer: Keras initializer of the three tables.

    Call arguments:
        inputs: float (B, S, D). Embedded words.
        fields: int (B, S), 0 to F − 1.
        starts: int (B, S). Position of the word from the start of its value, from 0.
        ends: int (B, S). Position of the word from the end of its value, from 0.

    Returns:
        (B, S, D), compute dtype, with the mask of the inputs.

    Raises:
        ValueError: a size < 1.

    Example:
        >>> ids = ops.zeros((2, 3), "int32")
        >>> tuple(FieldPositions(5, 7)(ops.zeros((2, 3, 11)), ids, ids, ids).shape)
        (2, 3, 11)

    Source: Lebret et al. 2016, arXiv:1603.07771, 4.2; Sha et al. 2018, arXiv:1709.00155, 2.2.
    Differs: the vectors are added, not concatenated.
    """

    def __init__(self, num_fields, num_positions, initializer="random_normal", **kwargs):
        super().__init__(**kwargs)
        check_sizes(num_fields=num_fields, num_positions=num_positions)
        self.num_fields, self.num_positions = num_fields, num_positions
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape, fields_shape=None, starts_shape=None, ends_shape=None):
        sizes = {"fields": self.num_fields, "starts": self.num_positions}
        sizes["ends"] = self.num_positions
        self.tables = [
            self.add_weight(
                shape=(size, inputs_shape[-1]), initializer=self.initializer.clone(), name=name
            )
            for name, size in sizes.items()
        ]

    def call(self, inputs, fields, starts, ends):
        last = self.num_positions - 1
        fields, starts, ends = (ops.cast(ids, "int32") for ids in (fields, starts, ends))
        places = (fields, ops.minimum(starts, last), ops.minimum(ends, last))
        for table, ids in zip(self.tables, places):
            inputs = inputs + ops.take(ops.cast(table, self.compute_dtype), ids, axis=0)
        return inputs

    def compute_mask(self, inputs, mask=None):
        """The mask of the inputs."""
        return mask[0] if isinstance(mask, list | tuple) else mask

    def compute_output_shape(
        self, inputs_shape, fields_shape=None, starts_shape=None, ends_shape=None
    ):
        return inputs_shape
