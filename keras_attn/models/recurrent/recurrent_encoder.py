"""A recurrent encoder of sequences."""

import functools

import keras
from keras import ops

from keras_attn.layers.context_gru_cell import ContextGRUCell
from keras_attn.layers.context_lstm_cell import ContextLSTMCell
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.models.base_model import config_of
from keras_attn.models.recurrent.recurrent_config import LSTM, RecurrentConfig
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.recurrent import masked_recurrence


@keras.saving.register_keras_serializable(package="keras_attn")
class RecurrentEncoder(MaskedLayer):
    """Layers of recurrent cells, in one direction or both, with residual connections.

        h_t = m_t h̃_t + (1 − m_t) h_{t−1}: where the mask is False the state stays

    From the second layer on, a layer's output is added to its input.

    Args:
        config: `RecurrentConfig`, or its fields as keywords.

    Call arguments:
        inputs: float (B, S, E).
        mask: bool (B, S); True = real. Filled in by Keras.

    Returns:
        outputs: (B, S, F), compute dtype, with the mask; F is 2H in both directions, else H. 0
            where the mask is False.
        last: (B, F). The last layer's final hidden state, of each direction.

    Example:
        >>> encoder = RecurrentEncoder(vocabulary_size=13, hidden_dim=7)
        >>> outputs, last = encoder(ops.zeros((2, 11, 5)))
        >>> tuple(outputs.shape), tuple(last.shape)
        ((2, 11, 14), (2, 14))

    Source: Bahdanau et al. 2015, arXiv:1409.0473, 3.2; residual connections as in Wu et al. 2016,
    arXiv:1609.08144.
    """

    def __init__(self, config=None, **kwargs):
        config = config_of(RecurrentConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        make = ContextLSTMCell if config.cell == LSTM else ContextGRUCell
        directions = ("forward", "backward") if config.bidirectional else ("forward",)
        self.cells = [
            [make(config.hidden_dim, name=f"{name}_{n}", dtype=policy) for name in directions]
            for n in range(config.num_encoder_layers)
        ]
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)

    @property
    def units(self):
        """F."""
        return self.config.hidden_dim * len(self.cells[0])

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        for pair in self.cells:
            for cell in pair:
                cell.build((None, width))
            width = self.units

    def call(self, inputs, mask=None, training=None):
        mask = sequence_mask(inputs, mask=mask)
        hidden, last = zero_masked(ops.cast(inputs, self.compute_dtype), mask), None
        for place, pair in enumerate(self.cells):
            run = functools.partial(self._run, hidden, mask)
            outputs, finals = zip(*(run(cell, back) for cell, back in zip(pair, (False, True))))
            outputs, last = ops.concatenate(outputs, axis=-1), ops.concatenate(finals, axis=-1)
            hidden = outputs if place == 0 else hidden + outputs
            hidden = self.dropout(hidden, training=training)
        return carry_mask(zero_masked(hidden, mask), mask), last

    def _run(self, inputs, mask, cell, backwards):
        """Outputs (B, S, H) of one cell, and its final hidden state (B, H)."""
        rows = ops.zeros_like(inputs[:, 0, :1])
        state = cell.state_of([ops.repeat(rows, size, axis=1) for size in cell.state_sizes])
        outputs, last = masked_recurrence(cell.step, cell.project(inputs), state, mask, backwards)
        return outputs, ops.cast(last[0], self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units), (inputs_shape[0], self.units)
