"""A Transformer decoder that plans the order of facts, and copies from them."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, StepResult
from keras_attn.layers.copy_mixture import CopyMixture
from keras_attn.layers.hybrid_attention import HybridAttention
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.models.base_model import config_of
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.models.transformer.transformer_decoder import TransformerDecoder, last_real
from keras_attn.ops.hypotheses import gather_hypotheses, repeat_hypotheses


class PlanningMemory(NamedTuple):
    """What every step reads.

    Attributes:
        decoder: `TransformerMemory`.
        attention: `HybridMemory`.
        copying: `CopyMemory`, or () without copying.
    """

    decoder: Any
    attention: Any
    copying: Any


class PlanningState(NamedTuple):
    """What a hypothesis has consumed.

    Attributes:
        decoder: `TransformerState`.
        expected: float32 (N, S), scores of the link-based attention at the next step.
        recent: int32 (N, R), the last tokens, 0 where there are none; R = 0 without runs of copies.
    """

    decoder: Any
    expected: Any
    recent: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class PlanningDecoder(MaskedLayer):
    """A `TransformerDecoder`, then hybrid attention to the facts, then logits mixed with copies.

        h̃_t = h_t + W c_t,  c_t = Σ_s α_t,s v_s     with α of `HybridAttention`

    Logits are made of h̃, and mixed with copies by `CopyMixture`, whose attention h̃ asks. It is a
    `Stepper` over encoded facts: `start((keys, source, key_mask), length)`.

    Args:
        config: `TransformerConfig`, or its fields as keywords.
        attention: `HybridAttention`.
        copying: `CopyMixture`, or None for a decoder that copies nothing.

    Call arguments:
        tokens: int32 (N, T), decoder input; padding only at its end. N = B·C: the C sequences of an
            example are neighbors.
        value: float (B, S, E). The encoder's output.
        source: int32 (B, S, 7), see `FactTokens`.
        value_mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.
        scored_layers: as in `TransformerDecoder`.

    Returns:
        logits: float32 (N, T, V), with the mask of the real tokens; with copying they
            are log-probabilities.
        weights: with return_attention_scores, float32 (N, T, S), where each step looked: α of the
            hybrid attention and that of copying, by the share of copying.
        decoder_weights: with return_attention_scores, tuple of float32 (N, H, T, T), by layer.
        cross_weights: with return_attention_scores, tuple of float32 (N, H, T, S), by layer.

    Raises:
        ValueError: other parts in the place of these.

    Source: see `HybridAttention` and `CopyMixture`. Differs: on a Transformer.
    """

    ranks = {"tokens": (2,), "value": (3,), "source": (3,)}
    sequences = True

    def __init__(self, config=None, attention=None, copying=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        if not isinstance(attention, HybridAttention):
            raise ValueError(f"Expected a HybridAttention. Received: attention={attention!r:.80}")
        if not isinstance(copying, CopyMixture | None):
            raise ValueError(f"Expected a CopyMixture or None. Received: copying={copying!r:.80}")
        self.config, self.attention, self.copying = config, attention, copying
        policy = self.dtype_policy
        self.decoder = TransformerDecoder(config, name="decoder", dtype=policy)
        self.merge = keras.layers.Dense(
            config.hidden_dim, use_bias=False, name="merge", dtype=policy
        )
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)

    @property
    def embedding(self):
        """The decoder's `ScaledEmbedding`."""
        return self.decoder.embedding

    def build(self, tokens_shape, value_shape, source_shape=None):
        hidden = (None, None, self.config.hidden_dim)
        self.decoder.build(tokens_shape, value_shape)
        if not self.attention.built:
            self.attention.build(hidden, value_shape)
        self.merge.build(value_shape)
        if self.copying is not None and not self.copying.built:
            self.copying.build(hidden, value_shape)

    def call(
        self,
        tokens,
        value,
        source,
        value_mask=None,
        return_attention_scores=False,
        training=None,
        scored_layers=None,
    ):
        value_mask, facts = sequence_mask(value, value_mask=value_mask), FactTokens.of(source)
        scored = scored_layers if return_attention_scores else ()
        hidden, *both = self.decoder.hidden_states(tokens, value, value_mask, training, scored)
        context, weights = self.attention(
            hidden,
            value,
            facts.fields,
            value_mask=value_mask,
            return_attention_scores=True,
            training=training,
        )
        hidden = hidden + self.dropout(self.merge(context), training=training)
        logits = self.decoder.logits_of(hidden, self.decoder.output_kernel())
        if self.copying is not None:
            memory = self.copying.start(value, facts.pieces, value_mask, facts.starts > 0)
            runs = self.copying.runs(tokens, memory)
            logits, weights = self._mixed(hidden, logits, weights, memory, runs)
        logits = carry_mask(logits, ops.not_equal(tokens, PAD_ID))
        return (logits, weights, *both) if return_attention_scores else logits

    def compute_output_shape(self, tokens_shape, value_shape, source_shape=None):
        return (*tokens_shape, self.config.target_size)

    def start(self, context, length):
        """Memory and initial state of each example.

        Args:
            context: (keys float (B, S, E), source int32 (B, S, 7), key_mask bool (B, S)).
            length: int or int32 scalar. Maximum number of tokens to be consumed.

        Returns:
            memory: `PlanningMemory`.
            state: `PlanningState` of one hypothesis per example.
        """
        keys, source, key_mask = context
        keys, facts = ops.cast(keys, self.compute_dtype), FactTokens.of(source)
        memory, state = self.decoder.start((keys, key_mask), length)
        attention, expected = self.attention.start(keys, facts.fields, key_mask)
        copying = ()
        if self.copying is not None:
            copying = self.copying.start(keys, facts.pieces, key_mask, facts.starts > 0)
        recent = ops.zeros((ops.shape(source)[0], self._num_recent), "int32")
        return PlanningMemory(memory, attention, copying), PlanningState(state, expected, recent)

    @property
    def _num_recent(self):
        """Tokens that a hypothesis keeps for the runs of copies."""
        return 0 if self.copying is None else self.copying.longest_run

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        hidden, weights, state = self._advance(tokens[:, None], memory, state)
        state = state._replace(expected=state.expected[:, 0], recent=state.recent[:, 0])
        return self._result(hidden[:, 0], weights[:, 0], memory, state)

    def prefill(self, prefix, memory, state):
        """Consumes several tokens of each hypothesis in one pass; see `TransformerDecoder`."""
        real = ops.not_equal(prefix, PAD_ID)
        hidden, weights, state = self._advance(prefix, memory, state, real)
        every = (hidden, weights, state.expected, state.recent)
        hidden, weights, expected, recent = (last_real(array, real) for array in every)
        state = state._replace(expected=expected, recent=recent)
        return self._result(hidden, weights, memory, state)

    def _advance(self, tokens, memory, state, real=None):
        """tokens (N, P) -> hidden (N, P, D), weights (N, P, S), and a state with the expected
        scores and the recent tokens after each of the P steps."""
        hidden, _, decoder = self.decoder.advance(tokens, memory.decoder, state.decoder, real)
        hidden = ops.reshape(hidden, (*ops.shape(tokens), self.config.hidden_dim))
        context, weights, expected = self.attention.advance(
            hidden, memory.attention, state.expected
        )
        history = ops.concatenate([state.recent, ops.cast(tokens, "int32")], axis=1)
        steps, count = ops.shape(tokens)[1], self._num_recent
        recent = [history[:, 1 + place : 1 + place + steps] for place in range(count)]
        recent = ops.stack(recent, axis=-1) if count else history[:, :, None][:, :steps, :0]
        return hidden + self.merge(context), weights, PlanningState(decoder, expected, recent)

    def _result(self, hidden, weights, memory, state):
        """`StepResult` after the last step: hidden (N, D), weights (N, S), and its state."""
        logits = self.decoder.logits_of(hidden, memory.decoder.output)
        if self.copying is not None:
            steps = (array[:, None] for array in (hidden, logits, weights))
            recent = state.recent
            runs = self.copying.runs(recent[:, -1:], memory.copying, recent[:, :-1])
            mixed = self._mixed(*steps, memory.copying, runs)
            logits, weights = (array[:, 0] for array in mixed)
        return StepResult(logits, state, weights)

    def _mixed(self, hidden, logits, weights, memory, runs):
        """Logits of the mixture, and the weights of both attentions by the share of copying."""
        logits, pointer, share = self.copying.mix(hidden, logits, memory, runs)
        return logits, weights + share * (pointer - weights)

    def widen(self, state, width):
        """From one hypothesis per example to `width` equal ones."""
        arrays = (repeat_hypotheses(array, width) for array in (state.expected, state.recent))
        return PlanningState(self.decoder.widen(state.decoder, width), *arrays)

    def reorder(self, state, parents):
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K)."""
        arrays = (gather_hypotheses(array, parents) for array in (state.expected, state.recent))
        return PlanningState(self.decoder.reorder(state.decoder, parents), *arrays)
