"""One layer of the Transformer's decoder."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.feed_forward import FeedForward
from keras_attn.layers.multi_head_attention import MultiHeadAttention
from keras_attn.layers.residual import POST, Residual
from keras_attn.ops.cached_attention import hypotheses_of


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
class TransformerDecoderBlock(keras.layers.Layer):
    """Causal self-attention, attention to the encoder's output, feed-forward net; each residual.

    Step by step: `start(keys)` once, then `extend` with a cache of `empty_cache`.

    Args:
        heads: int > 0. H.
        key_units: int > 0. d_k.
        value_units: int > 0 or None. d_v; None is key_units.
        hidden_units: int > 0. Width of the feed-forward net's hidden layer, d_ff.
        dropout: probability. On the outputs of the three sublayers.
        weight_dropout: probability. On the attention weights.
        norm: "post", LN(x + f(x)) as in the paper, or "pre", x + f(LN(x)).
        use_bias: bool. Whether the attention's projections have a bias.
        epsilon: float > 0. Of the layer normalization (1e-6 as in the authors' program).

    Call arguments:
        inputs: float (N, T, D), N = B·C: C sequences for each of B examples, which are neighbors.
        keys: float (B, S, E). The encoder's output; projected once for all C.
        keys_mask: bool (B, S); True = attend. Filled in by Keras where the keys carry a mask.

    Returns:
        outputs: (N, T, D), compute dtype.
        weights: float32 (N, H, T, T), of the self-attention.
        cross_weights: float32 (N, H, T, S), of the attention to the keys.

    Raises:
        ValueError: a width < 1; a probability outside [0, 1); another `norm`.

    Example:
        >>> from keras import ops
        >>> block = TransformerDecoderBlock(2, 3, 3, 13)
        >>> outputs, weights, cross = block(ops.ones((2, 7, 5)), ops.ones((2, 11, 5)))
        >>> tuple(outputs.shape), tuple(weights.shape), tuple(cross.shape)
        ((2, 7, 5), (2, 2, 7, 7), (2, 2, 7, 11))

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1.
    """

    def __init__(
        self,
        heads,
        key_units,
        value_units,
        hidden_units,
        dropout=0.1,
        weight_dropout=0.0,
        norm=POST,
        use_bias=False,
        epsilon=1e-6,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.heads, self.key_units, self.value_units = heads, key_units, value_units
        self.hidden_units, self.dropout, self.weight_dropout = hidden_units, dropout, weight_dropout
        self.norm, self.use_bias, self.epsilon = norm, bool(use_bias), epsilon
        self.attention = self._attention("attention", causal=True)
        self.cross_attention = self._attention("cross_attention", causal=False)
        policy = self.dtype_policy
        self.feed_forward = FeedForward(hidden_units, name="feed_forward", dtype=policy)
        self.residuals = [
            Residual(norm, dropout, epsilon, name=f"{name}_residual", dtype=policy)
            for name in ("attention", "cross_attention", "feed_forward")
        ]

    def _attention(self, name, causal):
        return MultiHeadAttention(
            self.heads,
            self.key_units,
            self.value_units,
            dropout=self.weight_dropout,
            use_bias=self.use_bias,
            causal=causal,
            name=name,
            dtype=self.dtype_policy,
        )

    def build(self, inputs_shape, keys_shape):
        self.cross_attention.build(inputs_shape, keys_shape)
        for layer in (self.attention, self.feed_forward, *self.residuals):
            layer.build(inputs_shape)

    def call(self, inputs, keys, keys_mask=None, training=None):
        attending, crossing, feeding = self.residuals
        attended, weights = self.attention(attending.enter(inputs), training=training)
        inputs = attending.leave(inputs, attended, training)
        attended, cross_weights = self._cross(crossing.enter(inputs), keys, keys_mask, training)
        inputs = crossing.leave(inputs, attended, training)
        fed = self.feed_forward(feeding.enter(inputs), training=training)
        return feeding.leave(inputs, fed, training), weights, cross_weights

    def _cross(self, query, keys, keys_mask, training):
        """Attention of queries (N, T, D) to keys (B, S, E), N = B·C, as one of (B, C·T, D)."""
        examples, (rows, length, units) = ops.shape(keys)[0], ops.shape(query)
        shared = hypotheses_of(rows, examples)
        attended, weights = self.cross_attention(
            ops.reshape(query, (examples, shared * length, units)),
            keys,
            keys_mask=keys_mask,
            training=training,
        )
        split = (examples, self.heads, shared, length, ops.shape(weights)[-1])
        weights = ops.swapaxes(ops.reshape(weights, split), 1, 2)
        whole = (rows, self.heads, length, split[-1])
        return ops.reshape(attended, (rows, length, units)), ops.reshape(weights, whole)

    def start(self, keys):
        """`BlockMemory` of the encoder's output, float (B, S, E)."""
        cross = self.cross_attention.loop_kernels()
        return BlockMemory(
            self.cross_attention.project(keys, cross),
            self.attention.loop_kernels(),
            cross,
            self.feed_forward.loop_kernels(),
        )

    def empty_cache(self, rows, length):
        """`KeysAndValues` of zeros for `rows` hypotheses and `length` steps."""
        return self.attention.empty_cache(rows, length)

    def extend(self, inputs, memory, keys_mask, cache, steps):
        """The next P steps of K hypotheses an example; see `MultiHeadAttention.extend`.

        Args:
            inputs: float (N·P, D).
            memory: `BlockMemory`, what `start` returned.
            keys_mask: bool (B, S).
            cache: `KeysAndValues` with leading axis N.
            steps: `NextSteps`.

        Returns:
            outputs: (N·P, D).
            cache: `KeysAndValues`, a new one.
            cross_weights: float32 (B, H, K·P, S).
        """
        attending, crossing, feeding = self.residuals
        attended, cache = self.attention.extend(
            attending.enter(inputs), cache, steps, memory.attention
        )
        inputs = attending.leave(inputs, attended, training=False)
        attended, cross_weights = self.cross_attention.attend_rows(
            crossing.enter(inputs), memory.projected, steps, keys_mask, memory.cross_attention
        )
        inputs = crossing.leave(inputs, attended, training=False)
        fed = self.feed_forward.apply(feeding.enter(inputs), memory.feed_forward)
        return feeding.leave(inputs, fed, training=False), cache, cross_weights

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass masks explicitly where a later layer wants them."""
        return None

    def get_config(self):
        config = {
            "heads": self.heads,
            "key_units": self.key_units,
            "value_units": self.value_units,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "weight_dropout": self.weight_dropout,
            "norm": self.norm,
            "use_bias": self.use_bias,
            "epsilon": self.epsilon,
        }
        return {**super().get_config(), **config}
