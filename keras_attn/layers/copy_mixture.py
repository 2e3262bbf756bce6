"""Generating a token, or copying it from the source."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.attention_layer import AttentionLayer, carry_mask, sequence_mask
from keras_attn.layers.held_config import held_config
from keras_attn.layers.local_attention import check_global
from keras_attn.ops.attend import attention_weights
from keras_attn.ops.cached_attention import hypotheses_of
from keras_attn.ops.copy_mixture import copy_mixture


class CopyMemory(NamedTuple):
    """What every step of a `CopyMixture` reads; all lead with B.

    Attributes:
        keys: what the attention's `project_keys` returned.
        tokens: int32 (B, S), ids of the source's tokens.
        mask: bool (B, S) or None.
    """

    keys: Any
    tokens: Any
    mask: Any


@keras.saving.register_keras_serializable(package="keras_attn")
class CopyMixture(AttentionLayer):
    """Logits mixed with copies of the source's tokens, for names and numbers never seen before.

        α_t = softmax_s(score(q_t, k_s)),  g_t = σ(w · q_t + b)
        p_t(v) = (1 − g_t) softmax(logits_t)_v + g_t Σ_{s: token_s = v} α_t,s

    Source and answer share their vocabulary; one of pieces can spell, and so copy, any word.

    Args:
        attention: `ScoredAttention`, which points at what is copied.
        bias: float. First b; below 0, a model begins by generating.

    Call arguments:
        query: float (N, T, D), N = B·K: K sequences for each of B examples, which are neighbors.
        value: float (B, S, E), the encoder's output.
        logits: float (N, T, V).
        tokens: int (B, S), the token that each value stands for.
        query_mask, value_mask: bool (N, T), (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        log_probabilities: float32 (N, T, V), which are logits of the mixture, with the query's
            mask.
        weights: with return_attention_scores, float32 (N, T, S), α.

    Raises:
        ValueError: no global `ScoredAttention`.

    Example:
        >>> from keras_attn.layers import MultiplicativeAttention
        >>> mixed = CopyMixture(MultiplicativeAttention())(
        ...     ops.ones((2, 3, 5)), ops.ones((2, 11, 7)), ops.ones((2, 3, 13)),
        ...     ops.ones((2, 11), "int32"),
        ... )
        >>> tuple(mixed.shape)
        (2, 3, 13)

    Source: See et al. 2017, arXiv:1704.04368, 2.2; copying pieces of fields, Sha et al. 2018,
    arXiv:1709.00155, 2.4. Differs: its own attention points, and the gate reads the query alone.
    """

    ranks = {"query": (3,), "value": (3,), "logits": (3,), "tokens": (2,)}
    sequences = True

    def __init__(self, attention, bias=-1.0, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.bias = check_global(attention), bias

    def build(self, query_shape, value_shape, logits_shape=None, tokens_shape=None):
        if not self.attention.built:
            self.attention.build(query_shape, value_shape)
        shape = (query_shape[-1], 1)
        self.kernel = self.add_weight(shape=shape, initializer="glorot_uniform", name="kernel")
        initializer = keras.initializers.Constant(self.bias)
        self.gate_bias = self.add_weight(shape=(1,), initializer=initializer, name="gate_bias")

    def call(
        self,
        query,
        value,
        logits,
        tokens,
        query_mask=None,
        value_mask=None,
        return_attention_scores=False,
        training=None,
    ):
        query_mask = sequence_mask(query, query_mask=query_mask)
        value_mask = sequence_mask(value, value_mask=value_mask)
        mixed, weights, _ = self.mix(query, logits, self.start(value, tokens, value_mask))
        mixed = carry_mask(mixed, query_mask)
        return (mixed, weights) if return_attention_scores else mixed

    def start(self, value, tokens, mask=None):
        """`CopyMemory` of values (B, S, E) that stand for tokens (B, S)."""
        return CopyMemory(self.attention.project_keys(value), ops.cast(tokens, "int32"), mask)

    def mix(self, query, logits, memory):
        """The next T steps.

        Args:
            query: float (N, T, D).
            logits: float (N, T, V).
            memory: `CopyMemory`.

        Returns:
            log_probabilities: float32 (N, T, V).
            weights: float32 (N, T, S), α.
            share: float32 (N, T, 1), g.
        """
        rows, steps, units = ops.shape(query)
        examples, size = ops.shape(memory.tokens)
        together = (examples, hypotheses_of(rows, examples) * steps, units)
        mask = None if memory.mask is None else memory.mask[:, None, :]
        scores = self.attention.score(ops.reshape(query, together), memory.keys)
        weights = ops.reshape(attention_weights(scores, mask), (rows, steps, size))
        kernel, bias = (ops.cast(weight, query.dtype) for weight in (self.kernel, self.gate_bias))
        switch = ops.cast(ops.matmul(query, kernel) + bias, "float32")
        mixed = copy_mixture(logits, weights, switch, memory.tokens)
        return mixed, weights, ops.sigmoid(switch)

    def compute_output_shape(self, query_shape, value_shape, logits_shape, tokens_shape):
        return logits_shape

    def get_config(self):
        config = {"attention": held_config(self.attention), "bias": self.bias}
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
