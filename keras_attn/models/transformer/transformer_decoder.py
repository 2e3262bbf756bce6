"""The Transformer decoder, parallel and step by step."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, START_ID, StepResult
from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.feed_forward import activation_function
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.residual import make_normalization
from keras_attn.layers.scaled_embedding import ScaledEmbedding
from keras_attn.layers.transformer_decoder_block import TransformerDecoderBlock
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import LEARNED, NOTHING, TransformerConfig
from keras_attn.models.transformer.transformer_encoder import build_ends, enter_stack, make_ends
from keras_attn.ops.cached_attention import next_steps, own_caches, owning_from
from keras_attn.ops.hypotheses import gather_hypotheses, repeat_hypotheses
from keras_attn.ops.masks import zero_masked


class TransformerMemory(NamedTuple):
    """What every step reads: the examples' keys and values, and the weights, cast once.

    Attributes:
        key_mask: bool (B, S).
        added: of the `added_input`; () without one.
        blocks: tuple of `BlockMemory`, by layer.
        embedding: compute dtype (V, D); no batch axis.
        output: compute dtype (D, V); no batch axis.
    """

    key_mask: Any
    added: Any
    blocks: Any
    embedding: Any
    output: Any


class TransformerState(NamedTuple):
    """What a hypothesis has consumed; N = B·K rows, L slots.

    Attributes:
        time: int32 (N,). Tokens consumed; the hypotheses of an example have consumed equally many.
        added: of the `added_input`; () without one.
        ancestors: bool (N, K, L). Whether each of the K caches of the example holds each step.
        caches: tuple of `KeysAndValues` by layer, keys (N, G, L, d_k) and values (N, G, L, d_v);
            under a sliding window of W < L steps W slots.
    """

    time: Any
    added: Any
    ancestors: Any
    caches: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerDecoder(MaskedLayer):
    """Embedding, positions, dropout, N decoder blocks, and logits.

    It is a `Stepper` over keys of any kind: `start((keys, key_mask), length)` and so on. Caches
    stay where they were written when hypotheses are reordered; see `ops.cached_attention`.

    Args:
        config: `TransformerConfig`, or its fields as keywords.
        weights_layer: int, −N to N − 1. The layer whose attention to the keys, averaged over its
            heads, `step` and `prefill` return.
        added_input: layer whose output is added to the embedded tokens, see
            `contracts.DecoderInput`; None for none.

    Call arguments:
        tokens: int32 (N, T), decoder input; padding only at its end. N = B·C: the C sequences of an
            example are neighbors.
        value: float (B, S, E). The encoder's output.
        value_mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.
        scored_layers: collection of int, −N to N − 1. The layers whose weights are returned with
            return_attention_scores; None is all.

    Returns:
        logits: float32 (N, T, V), with the mask of the real tokens.
        weights: with return_attention_scores, tuple of float32 (N, H, T, T), by layer:
            self-attention.
        cross_weights: with return_attention_scores, tuple of float32 (N, H, T, S), by layer:
            attention to the value.

    Raises:
        ValueError: weights_layer or one of scored_layers outside −N..N − 1.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1 and 3.4. Under mixed precision the product
    that makes the logits is taken in the compute dtype.
    """

    ranks = {"tokens": (2,), "value": (3,)}
    sequences = True

    def __init__(self, config=None, weights_layer=-1, added_input=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        layers = config.decoder_layers
        if not -layers <= weights_layer < layers:
            raise ValueError(
                f"Expected weights_layer in -{layers}..{layers - 1}. "
                f"Received: weights_layer={weights_layer}"
            )
        self.config, self.weights_layer = config, weights_layer
        policy = self.dtype_policy
        self.embedding = ScaledEmbedding(
            config.target_size, config.hidden_dim, name="embedding", dtype=policy
        )
        self.output_embedding = None
        if config.tied == NOTHING:
            self.output_embedding = ScaledEmbedding(
                config.target_size, config.hidden_dim, name="output_embedding", dtype=policy
            )
        make_ends(self, config, policy)
        self.output_transform = self.output_norm = None
        if config.output_transform:
            self.output_transform = keras.layers.Dense(
                config.hidden_dim,
                activation_function(config.activation),
                name="output_transform",
                dtype=policy,
            )
            self.output_norm = make_normalization(
                config.normalization, config.epsilon, name="output_norm", dtype=policy
            )
        self.added_input = added_input
        self.relative = config.relative_positions(False, name="relative", dtype=policy)
        self.blocks = [
            TransformerDecoderBlock(
                **config.block, positions=self.relative, name=f"block_{n}", dtype=policy
            )
            for n in range(layers)
        ]

    def build(self, tokens_shape, value_shape):
        shape = (None, None, self.config.hidden_dim)
        for layer in filter(None, (self.embedding, self.output_embedding)):
            layer.build()
        build_ends(self, shape)
        for layer in filter(None, (self.output_transform, self.output_norm)):
            layer.build(shape)
        self.output_bias = None
        if self.config.output_bias:
            sizes = (self.config.target_size,)
            self.output_bias = self.add_weight(sizes, "zeros", name="output_bias")
        if self.added_input is not None and not self.added_input.built:
            self.added_input.build((None, None), value_shape)
        for block in self.blocks:
            block.build(shape, value_shape)

    def call(
        self,
        tokens,
        value,
        value_mask=None,
        return_attention_scores=False,
        training=None,
        scored_layers=None,
    ):
        value_mask = sequence_mask(value, value_mask=value_mask)
        scored = scored_layers if return_attention_scores else ()
        hidden, weights, cross_weights = self.hidden_states(
            tokens, value, value_mask, training, scored
        )
        logits = self.logits_of(hidden, self.output_kernel())
        logits = carry_mask(logits, ops.not_equal(tokens, PAD_ID))
        return (logits, weights, cross_weights) if return_attention_scores else logits

    def hidden_states(self, tokens, value, value_mask=None, training=None, scored_layers=None):
        """What `logits_of` reads, compute dtype (N, T, D), and both kinds of weights of a call.

        Args:
            tokens: int32 (N, T).
            value: float (B, S, E).
            value_mask: bool (B, S), or None.
            training: bool.
            scored_layers: as in the call.
        """
        hidden = self._embedded(tokens, self.embedding.kernel())
        if self.added_input is not None:
            hidden += self.added_input(tokens, zero_masked(value, value_mask))
        hidden = enter_stack(self, hidden, training)
        layers = len(self.blocks)
        scored = range(layers) if scored_layers is None else tuple(scored_layers)
        if not all(-layers <= layer < layers for layer in scored):
            raise ValueError(
                f"Expected scored_layers in -{layers}..{layers - 1}. "
                f"Received: scored_layers={scored_layers}"
            )
        weights, cross_weights = [], []
        for place, block in enumerate(self.blocks):
            hidden, *scores = call_scored(
                block,
                hidden,
                value,
                value_mask=value_mask,
                return_attention_scores=place in scored or place - layers in scored,
                training=training,
            )
            weights.extend(scores[:1])
            cross_weights.extend(scores[1:])
        return self._normalized(hidden), tuple(weights), tuple(cross_weights)

    def compute_output_shape(self, tokens_shape, value_shape):
        return (*tokens_shape, self.config.target_size)

    def start(self, context, length):
        """Memory and initial state of each example.

        Args:
            context: (keys float (B, S, E), key_mask bool (B, S)).
            length: int or int32 scalar. L, maximum number of tokens to be consumed.

        Returns:
            memory: `TransformerMemory`.
            state: `TransformerState` of one hypothesis per example.

        Raises:
            ValueError: more tokens than learned positions.
        """
        if self.config.positions == LEARNED:
            self.positions.check_length(length)
        keys, key_mask = context
        key_mask = ops.cast(key_mask, "bool")
        keys = zero_masked(ops.cast(keys, self.compute_dtype), key_mask)
        rows = ops.shape(keys)[0]
        added = ((), ()) if self.added_input is None else self.added_input.start(keys)
        memory = TransformerMemory(
            key_mask,
            added[0],
            tuple(block.start(keys) for block in self.blocks),
            self.embedding.kernel(),
            self.output_kernel(),
        )
        state = TransformerState(
            ops.zeros((rows,), "int32"),
            added[1],
            own_caches(rows, 1, length),
            tuple(block.empty_cache(rows, length) for block in self.blocks),
        )
        return memory, state

    def step(self, tokens, memory, state):
        """One decoding step: int32 tokens (N,) to a `StepResult`; see `contracts.Stepper`."""
        hidden, weights, state = self.advance(tokens[:, None], memory, state)
        weights = ops.reshape(weights, (-1, ops.shape(weights)[-1]))
        return StepResult(self.logits_of(hidden, memory.output), state, weights)

    def prefill(self, prefix, memory, state):
        """Consumes several tokens of each hypothesis in one pass.

        Args:
            prefix: int32 (N, P), PAD_ID after the end of each; at least one token each, P tokens
                still fit, and those of an example are equally long.
            memory: `TransformerMemory`.
            state: `TransformerState`.

        Returns:
            `StepResult` of each last token that is not PAD_ID.
        """
        real = ops.not_equal(prefix, PAD_ID)
        hidden, weights, state = self.advance(prefix, memory, state, real)
        shape = tuple(ops.shape(prefix))
        hidden, weights = (
            last_real(ops.reshape(array, (*shape, ops.shape(array)[-1])), real)
            for array in (hidden, weights)
        )
        return StepResult(self.logits_of(hidden, memory.output), state, weights)

    def widen(self, state, width):
        """From one hypothesis per example to `width` equal ones."""
        rows, _, length = ops.shape(state.ancestors)
        widened = repeat_hypotheses(state, width)
        return widened._replace(ancestors=own_caches(rows, width, length))

    def reorder(self, state, parents):
        """Hypothesis k of example b goes on from hypothesis parents[b, k], int32 (B, K).

        The caches stay where they are.
        """
        consumed = (state.time, state.added, state.ancestors)
        time, added, ancestors = gather_hypotheses(consumed, parents)
        ancestors = owning_from(ancestors, time)
        return state._replace(time=time, added=added, ancestors=ancestors)

    def advance(self, tokens, memory, state, real=None):
        """The next P steps of N = B·K hypotheses, before `logits_of`.

        Args:
            tokens: int32 (N, P).
            memory: `TransformerMemory`.
            state: `TransformerState`.
            real: bool (N, P), False where a row has ended; None: nowhere.

        Returns:
            hidden: compute dtype (N·P, D).
            weights: float32 (B, K·P, S).
            state: `TransformerState`.
        """
        steps, units = ops.shape(tokens)[1], self.config.hidden_dim
        time = state.time
        groups = self.config.num_key_value_heads or self.config.num_heads
        window = self.config.sliding_window
        coming = next_steps(state.ancestors, time, steps, groups, real, window)
        hidden = self._embedded(tokens, memory.embedding)
        added = state.added
        if self.added_input is not None:
            inputs, added = self.added_input.step(tokens, memory.added, added)
            hidden = hidden + inputs
        where = {} if self.positions is None else {"start_index": time}
        hidden = enter_stack(self, hidden, training=False, **where)
        hidden, caches, weights = ops.reshape(hidden, (-1, units)), [], []
        for block, block_memory, cache in zip(self.blocks, memory.blocks, state.caches):
            hidden, cache, attended = block.extend(
                hidden, block_memory, memory.key_mask, cache, coming
            )
            caches.append(cache)
            weights.append(attended)
        consumed = steps if real is None else ops.sum(ops.cast(real, "int32"), axis=1)
        state = TransformerState(time + consumed, added, state.ancestors, tuple(caches))
        return self._normalized(hidden), self.average(weights[self.weights_layer]), state

    def _embedded(self, tokens, kernel):
        """Tokens int32 (N, T) as embeddings (N, T, D), by the embedding's `kernel`."""
        hidden = self.embedding.embed(ops.cast(tokens, "int32"), kernel)
        if self.config.embed_start:
            return hidden
        return ops.where(ops.equal(tokens, START_ID)[..., None], 0.0, hidden)

    def average(self, weights):
        """float32 (B, T, S): the mean over the heads of a layer's weights (B, H, T, S)."""
        return ops.mean(weights, axis=1)

    def output_kernel(self):
        """The kernel of `logits_of`, compute dtype (D, V)."""
        layer = self.embedding if self.output_embedding is None else self.output_embedding
        return layer.output_kernel()

    def logits_of(self, hidden, kernel):
        """float32 (..., V) from hidden states (..., D) and the `output_kernel`."""
        logits = self.embedding.logits(hidden, kernel)
        return (
            logits if self.output_bias is None else logits + ops.cast(self.output_bias, "float32")
        )

    def _normalized(self, hidden):
        hidden = hidden if self.last_norm is None else self.last_norm(hidden)
        if self.output_transform is None:
            return hidden
        return self.output_norm(self.output_transform(hidden))


def last_real(inputs, real):
    """(N, P, D) to (N, D): the last step of each row that is real, bool (N, P)."""
    count = ops.sum(ops.cast(real, "int32"), axis=1)
    last = ops.arange(ops.shape(real)[1], dtype="int32") == count[:, None] - 1
    return ops.matmul(ops.cast(last, inputs.dtype)[:, None, :], inputs)[:, 0]
