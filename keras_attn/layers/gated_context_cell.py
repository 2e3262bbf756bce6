"""What recurrent cells with gates over an input, a context and a state have in common."""

import functools
from typing import ClassVar

import keras

from keras_attn.checks import check_sizes
from keras_attn.layers.base_layer import BaseLayer


class GatedContextCell(BaseLayer):
    """Sums of gates, and the part of them that needs no state.

    Args:
        units: int > 0. H.

    Raises:
        ValueError: units < 1.
    """

    top_state = 0
    """Index of the state that is the output."""

    gates: ClassVar[int]
    """How many gates of `units` a step has."""
    hidden_bias: ClassVar[bool]
    """Whether the state's part of the gates has a bias of its own."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        check_sizes(units=units)
        self.units = units
        options = {"units": self.gates * units, "dtype": self.dtype_policy}
        self.input_gates = keras.layers.Dense(name="input_gates", **options)
        self.context_gates = None  # Keras cannot quantize a model with an unbuilt layer.
        self._make_context_gates = functools.partial(
            keras.layers.Dense,
            name="context_gates",
            use_bias=False,
            kernel_initializer=keras.initializers.GlorotUniform(),
            **options,
        )
        self.hidden_gates = keras.layers.Dense(
            name="hidden_gates",
            use_bias=self.hidden_bias,
            kernel_initializer="orthogonal",
            **options,
        )

    def build(self, input_shape, context_shape=None):
        self.input_gates.build(input_shape)
        if context_shape is not None:
            self.context_gates = self._make_context_gates()
            self.context_gates.build(context_shape)
        self.hidden_gates.build((None, self.units))

    def project(self, inputs):
        """The part of the gates that inputs (..., E) determine: (..., gates H)."""
        return self.input_gates(inputs)

    def with_context(self, projected, context):
        """The gates of projected inputs (N, gates H) and a context (N, F), or None."""
        return projected if context is None else projected + self.context_gates(context)

    def call(self, inputs, context, state):
        """`step` of inputs that are not projected yet."""
        return self.step(self.project(inputs), context, state)
