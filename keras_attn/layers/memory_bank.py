"""A bank of learned slots that grows."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.traced_spec import traced_spec
from keras_attn.ops.memory_bank import read_bank


@keras.saving.register_keras_serializable(package="keras_attn")
class MemoryBank(BaseLayer):
    """Slots with learned keys and values, which a query reads by attention.

        α = softmax(hᵀ K) over all slots,  c = Σ_j α_j V_j

    Each domain adds slots of its own. The attention is normalized over the slots of all domains,
    and all of them go on learning.

    Args:
        slots: sequence of int > 0. Slots that each domain has added, the first domain's first.
        units: int > 0. F, width of the values.
        initializer: Keras initializer of keys and values.

    Call arguments:
        inputs: float (..., H). The query.
        return_attention_scores: bool.

    Returns:
        context: (..., F), compute dtype, computed in float32.
        weights: with return_attention_scores, float32 (..., N), over the slots of all domains.

    Raises:
        ValueError: no domain, or a size < 1.

    Example:
        >>> tuple(MemoryBank((3, 5), 7)(ops.ones((2, 11))).shape)
        (2, 7)

    Source: Asghar et al. 2020, arXiv:1811.00239, 3.1 and 3.2.
    """

    def __init__(self, slots, units, initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        if not isinstance(slots, Sequence) or not slots:
            raise ValueError(f"Expected the slots of each domain. Received: slots={slots!r}")
        for count in slots:
            check_sizes(slots=count)
        check_sizes(units=units)
        self.slots, self.units = tuple(slots), units
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        self.keys = [
            self._slots(f"keys_{i}", count, inputs_shape[-1]) for i, count in enumerate(self.slots)
        ]
        self.values = [
            self._slots(f"values_{i}", count, self.units) for i, count in enumerate(self.slots)
        ]

    def _slots(self, name, count, width):
        return self.add_weight(
            shape=(count, width), initializer=self.initializer.clone(), autocast=False, name=name
        )

    def call(self, inputs, return_attention_scores=False):
        keys, values = (ops.concatenate(part, axis=0) for part in (self.keys, self.values))
        context, weights = read_bank(inputs, keys, values)
        context = ops.cast(context, self.compute_dtype)
        return (context, weights) if return_attention_scores else context

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)

    def compute_output_spec(self, *args, **kwargs):
        """Shapes and dtypes of what the call returns; with weights only if requested."""
        return traced_spec(self, *args, **kwargs)
