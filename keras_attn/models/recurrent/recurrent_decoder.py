"""The recurrent decoder with attention, for sequences of tokens."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, StepResult
from keras_attn.layers.additive_attention import AdditiveAttention
from keras_attn.layers.attention_cell import AttentionCell
from keras_attn.layers.context_gru_cell import ContextGRUCell
from keras_attn.layers.context_lstm_cell import ContextLSTMCell
from keras_attn.layers.location_sampler import for_samples
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.sampled_attention import SampledAttention
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.layers.stacked_context_cells import StackedContextCells
from keras_attn.models.base_model import config_of
from keras_attn.models.language_pair import NOTHING
from keras_attn.models.recurrent.recurrent_config import LSTM, RecurrentConfig
from keras_attn.ops.hypotheses import gather_hypotheses, prefill_by_steps, repeat_hypotheses
from keras_attn.ops.scan import scan


class RecurrentMemory(NamedTuple):
    """What every step reads; the weights are cast once.

    Attributes:
        attended: `AttentionMemory` of the examples.
        embedding: compute dtype (V, E); no batch axis.
        output: compute dtype (E, V); no batch axis.
    """

    attended: Any
    embedding: Any
    output: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class RecurrentDecoder(MaskedLayer):
    """Recurrent decoder with attention: an `AttentionCell` between embeddings and logits.

        s₀ = tanh(W h_S + b), one for each part of the cell's state
        ã_t, s_t = AttentionCell(E y_{t−1}, s_{t−1}),  logits_t = L ã_t

    It is a `contracts.Stepper` over (value, mask, last) of a `RecurrentEncoder`.

    Args:
        config: `RecurrentConfig`, or its fields as keywords.
        attention: `ScoredAttention` layer. None is `AdditiveAttention` of width H.

    Call arguments:
        tokens: int32 (B, T), decoder input.
        value: float (B, S, F). The encoder's outputs.
        last: float (B, F). The encoder's final state.
        value_mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        logits: float32 (B, T, V), with the mask of the real tokens.
        weights: with return_attention_scores, float32 (B, T, S).
        locations: with return_attention_scores, if a `SampledAttention` samples them in training,
            int32 (B, T). If it draws K samples, all of them lead with B·K, and the samples of an
            example are neighbors.

    Source: see `AttentionCell`.
    """

    ranks = {"tokens": (2,), "value": (3,)}

    def __init__(self, config=None, attention=None, **kwargs):
        config = config_of(RecurrentConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, policy = config, self.dtype_policy
        sizes = config.target_size, config.embedding_dim
        self.embedding = ScaledEmbedding(*sizes, name="embedding", dtype=policy)
        self.output_embedding = None
        if config.tied == NOTHING:
            self.output_embedding = ScaledEmbedding(*sizes, name="output_embedding", dtype=policy)
        if attention is None:
            attention = AdditiveAttention(config.hidden_dim, name="attention", dtype=policy)
        self.attention = attention
        self.cell = AttentionCell(
            self._cell(),
            attention,
            config.embedding_dim,
            config.input_feeding,
            config.attend_first,
            name="cell",
            dtype=policy,
        )
        self.initial_states = [
            keras.layers.Dense(size, "tanh", name=f"initial_state_{n}", dtype=policy)
            for n, size in enumerate(self.cell.cell.state_sizes)
        ]
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)

    def _cell(self):
        make = ContextLSTMCell if self.config.cell == LSTM else ContextGRUCell
        count = self.config.num_decoder_layers
        cells = [
            make(self.config.hidden_dim, name=f"cell_{n}", dtype=self.dtype_policy)
            for n in range(count)
        ]
        return cells[0] if count == 1 else StackedContextCells(cells, dtype=self.dtype_policy)

    def build(self, tokens_shape, value_shape, last_shape=None):
        for layer in filter(None, (self.embedding, self.output_embedding)):
            layer.build()
        self.cell.build((None, self.config.embedding_dim), value_shape)
        for layer in self.initial_states:
            layer.build((None, value_shape[-1]))

    def call(
        self,
        tokens,
        value,
        last,
        value_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        sampling = training and isinstance(self.attention, SampledAttention)
        samples = self.attention.sampler.samples if sampling else 1
        memory, state = self._start(value, sequence_mask(value, value_mask=value_mask), last)
        if samples > 1:
            tokens = for_samples(self.attention, tokens, axis=0)
            state = repeat_hypotheses(state, samples)
        embedded = self.dropout(self.embedding(tokens), training=training)
        projected = ops.swapaxes(self.cell.project(embedded), 0, 1)

        draws = (self.attention.draws(ops.shape(tokens)[1], value),) if sampling else ()

        def advance(state, inputs):
            output, weights, state = self.cell.step(inputs[0], memory, state, samples, *inputs[1:])
            return state, (output, weights)

        _, outputs = scan(advance, state, (projected, *draws))
        locations = [self.attention.sampler.choose(outputs[1], draw) for draw in draws]
        hidden, weights, *locations = (
            ops.swapaxes(output, 0, 1) for output in (*outputs, *locations)
        )
        hidden = self.dropout(hidden, training=training)
        output = self._output_layer()
        logits = output.logits(hidden, output.output_kernel())
        logits = carry_mask(logits, ops.not_equal(tokens, PAD_ID))
        return (logits, weights, *locations) if return_attention_scores else logits

    def compute_output_shape(self, tokens_shape, value_shape, last_shape=None):
        return (*tokens_shape, self.config.target_size)

    def start(self, context, length):
        """Memory and initial state of each example.

        Args:
            context: (value float (B, S, F), mask bool (B, S), last float (B, F)).
            length: int. Unused: the state does not grow.

        Returns:
            memory: `RecurrentMemory`.
            state: `AttentionState` of one hypothesis per example.
        """
        memory, state = self._start(*context)
        kernels = self.embedding.kernel(), self._output_layer().output_kernel()
        return RecurrentMemory(memory, *kernels), state

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        embedded = self.embedding.embed(tokens, memory.embedding)
        projected = self.cell.project(embedded)
        output, weights, state = self.cell.step(projected, memory.attended, state)
        return StepResult(self.embedding.logits(output, memory.output), state, weights)

    def prefill(self, prefix, memory, state):
        """Steps over a forced prefix int32 (N, P); see `contracts.Stepper`."""
        return prefill_by_steps(self.step, prefix, prefix != PAD_ID, memory, state)

    def widen(self, state, width):
        """From one hypothesis per example to `width` equal ones."""
        return repeat_hypotheses(state, width)

    def reorder(self, state, parents):
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K)."""
        return gather_hypotheses(state, parents)

    def _start(self, value, mask, last):
        last = ops.cast(last, self.compute_dtype)
        state = self.cell.first([layer(last) for layer in self.initial_states])
        return self.cell.read(value, mask), state

    def _output_layer(self):
        return self.embedding if self.output_embedding is None else self.output_embedding
