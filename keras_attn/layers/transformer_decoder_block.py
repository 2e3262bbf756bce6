"""One layer of the Transformer's decoder."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.masked_layer import carry_mask, sequence_mask
from keras_attn.layers.transformer_block import TransformerBlock
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.masks import zero_masked


class BlockMemory(NamedTuple):
    """What a `TransformerDecoderBlock` computes once, before its first step.

    Attributes:
        projected: `KeysAndValues` of the encoder's output, leading with B.
        attention, cross_attention: `HeadKernels`, no batch axis.
        feed_forward: `FeedForwardKernels`, no batch axis.
    """

    projected: Any
    attention: Any
    cross_attention: Any
    feed_forward: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerDecoderBlock(TransformerBlock):
    """Causal self-attention, attention to the encoder's output, feed-forward net; each residual.

    Step by step: `start(value)` once, then `extend` with a cache of `empty_cache`.

    Args:
        num_heads: int > 0. H.
        key_dim: int > 0. d_k.
        value_dim: int > 0 or None. d_v; None is key_dim.
        intermediate_dim: int > 0. Width of the feed-forward net's hidden layer, d_ff.
        dropout: probability. On the outputs of the three sublayers.
        attention_dropout: probability. On the attention weights.
        normalize_first: bool. x + f(LN(x)) instead of LN(x + f(x)), which is the paper's.
        use_bias: bool. Whether the attention's projections have a bias; by default not, as in the
            paper.
        epsilon: float > 0. Of the layer normalization (1e-6 as in the authors' program).
        activation: as in `FeedForward`.
        num_key_value_heads, soft_cap: as in `MultiHeadAttention`, of both attentions.
        sliding_window, positions: as in `MultiHeadAttention`, of the self-attention.
        normalization: "layer" or "rms", the root mean square without mean and offset.
        gated, feed_forward_bias: as `gated` and `use_bias` of `FeedForward`.
        parallel: bool. x + Σ f(LN(x)) over the sublayers, with one normalization; requires
            normalize_first.
        query_key_normalization, use_sinks: as in `MultiHeadAttention`, of both attentions.

    Call arguments:
        query: float (N, T, D), N = B·C: C sequences for each of B examples, which are neighbors.
        value: float (B, S, E). The encoder's output; projected once for all C.
        query_mask, value_mask: bool (N, T), (B, S); True = attend. Filled in by Keras.
        attention_mask: bool, broadcastable to (N, T, T), of the self-attention. All masks must
            allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Whether position t sees positions 0 to t of the query only.

    Returns:
        outputs: (N, T, D), compute dtype, with the query's mask.
        weights: with return_attention_scores, float32 (N, H, T, T), of the self-attention.
        cross_weights: with return_attention_scores, float32 (N, H, T, S), of the attention to the
            value.

    Raises:
        ValueError: a width < 1; a probability outside [0, 1); an unknown activation or
            normalization; parallel without normalize_first; a list of tensors; a mask of floats or
            of another shape; what `MultiHeadAttention` refuses.

    Example:
        >>> block = TransformerDecoderBlock(2, 3, 3, 13)
        >>> outputs, weights, cross = block(
        ...     ops.ones((2, 7, 5)), ops.ones((2, 11, 5)), return_attention_scores=True
        ... )
        >>> tuple(outputs.shape), tuple(weights.shape), tuple(cross.shape)
        ((2, 7, 5), (2, 2, 7, 7), (2, 2, 7, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1; parallel Wang and Komatsuzaki 2021 (GPT-J)
    and Chowdhery et al. 2022, arXiv:2204.02311, 2.
    """

    sequences = True
    attentions = ("attention", "cross_attention")

    def build(self, query_shape, value_shape):
        self.cross_attention.build(query_shape, value_shape)
        for layer in (self.attention, self.feed_forward, *self.residuals):
            layer.build(query_shape)

    def call(
        self,
        query,
        value,
        query_mask=None,
        value_mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=True,
    ):
        mask = sequence_mask(query, query_mask=query_mask)
        value_mask = sequence_mask(value, value_mask=value_mask)
        query = zero_masked(query, mask)
        weights = []
        attend = self.attend_itself(
            weights,
            mask=mask,
            attention_mask=attention_mask,
            return_attention_scores=return_attention_scores,
            training=training,
            use_causal_mask=use_causal_mask,
        )

        def cross(inputs):
            attended, *scores = self._cross(
                inputs, value, value_mask, return_attention_scores, training
            )
            weights.extend(scores)
            return attended

        def feed(inputs):
            return self.feed_forward(inputs, training=training)

        outputs = carry_mask(self.run_sublayers(query, (attend, cross, feed), training), mask)
        return (outputs, *weights) if return_attention_scores else outputs

    def _cross(self, query, value, value_mask, return_attention_scores, training):
        """Attention of queries (N, T, D) to values (B, S, E), N = B·C, as one of (B, C·T, D).

        Yields the outputs, then the weights if requested.
        """
        examples, (rows, length, units) = ops.shape(value)[0], ops.shape(query)
        shared = hypotheses_of(rows, examples)
        attended, *scores = call_scored(
            self.cross_attention,
            ops.reshape(query, (examples, shared * length, units)),
            value,
            value_mask=value_mask,
            return_attention_scores=return_attention_scores,
            training=training,
        )
        yield ops.reshape(attended, (rows, length, units))
        for weights in scores:
            split = (examples, self.num_heads, shared, length, ops.shape(weights)[-1])
            weights = ops.swapaxes(ops.reshape(weights, split), 1, 2)
            yield ops.reshape(weights, (rows, self.num_heads, length, split[-1]))

    def compute_output_shape(self, query_shape, value_shape):
        return query_shape

    def start(self, value):
        """`BlockMemory` of the encoder's output, float (B, S, E)."""
        cross = self.cross_attention.loop_kernels()
        return BlockMemory(
            self.cross_attention.project(value, kernels=cross),
            self.attention.loop_kernels(),
            cross,
            self.feed_forward.loop_kernels(),
        )

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` steps."""
        return self.attention.empty_cache(rows, length)

    def extend(self, inputs, memory, key_mask, cache, steps):
        """The next P steps of K hypotheses an example; see `MultiHeadAttention.extend`.

        Args:
            inputs: float (N·P, D).
            memory: `BlockMemory`, what `start` returned.
            key_mask: bool (B, S).
            cache: `KeysAndValues` with leading axis N.
            steps: `NextSteps`.

        Returns:
            outputs: (N·P, D).
            cache: `KeysAndValues`, a new one.
            cross_weights: float32 (B, H, K·P, S).
        """
        more = []

        def attend(inputs):
            attended, extended = self.attention.extend(inputs, cache, steps, memory.attention)
            more.append(extended)
            return attended

        def cross(inputs):
            attended, weights = self.cross_attention.attend_rows(
                inputs, memory.projected, steps, key_mask, memory.cross_attention
            )
            more.append(weights)
            return attended

        def feed(inputs):
            return self.feed_forward.apply(inputs, memory.feed_forward, training=False)

        outputs = self.run_sublayers(inputs, (attend, cross, feed), training=False)
        return (outputs, *more)
