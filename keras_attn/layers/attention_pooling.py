"""Pooling of a sequence by attention."""

import keras
from keras import ops

from keras_attn.layers.masked_layer import MaskedLayer, sequence_mask
from keras_attn.layers.scored_attention import ScoredAttention
from keras_attn.ops.masks import zero_masked


@keras.saving.register_keras_serializable(package="keras_attn")
class AttentionPooling(MaskedLayer):
    """A sequence as one vector: attention with a single learned query.

        α = softmax_s(score(q, h_s)),  pooled = Σ_s α_s h_s

    Keys and values are the hidden states themselves. With additive attention it is the word
    attention of hierarchical attention networks.

    Args:
        attention: a `ScoredAttention` layer, such as `AdditiveAttention(64)`.
        initializer: Keras initializer of the query q.

    Call arguments:
        inputs: float (B, S, D).
        mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        pooled: (B, D), compute dtype; 0 where fully masked. It has no mask.
        weights: with return_attention_scores, float32 (B, S); rows sum to 1, or are all 0 where
            fully masked.

    Raises:
        ValueError: `attention` is no ScoredAttention.

    Example:
        >>> from keras_attn.layers import AdditiveAttention
        >>> tuple(AttentionPooling(AdditiveAttention(7))(ops.ones((2, 11, 5))).shape)
        (2, 5)

    Source: Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", 2.2.
    There, score(q, h) = q · tanh(W h + b); here W q takes the place of b.
    """

    def __init__(self, attention, initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        if not isinstance(attention, ScoredAttention):
            raise ValueError(f"Expected a ScoredAttention layer. Received: attention={attention!r}")
        self.attention = attention
        self.initializer = keras.initializers.get(initializer)

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        self.query = self.add_weight(
            shape=(1, width), initializer=self.initializer.clone(), name="query"
        )
        if not self.attention.built:
            self.attention.build((None, 1, width), tuple(inputs_shape))

    def call(self, inputs, mask=None, return_attention_scores=False):
        mask = sequence_mask(inputs, mask=mask)
        inputs = zero_masked(inputs, mask)
        rows = ops.shape(inputs)[0]
        query = ops.broadcast_to(self.query[None], (rows, 1, self.query.shape[-1]))
        context, weights = self.attention.attend(
            ops.cast(query, inputs.dtype),
            self.attention.project_keys(inputs),
            inputs,
            None if mask is None else mask[:, None, :],
        )
        return (context[:, 0], weights[:, 0]) if return_attention_scores else context[:, 0]

    def compute_mask(self, inputs, mask=None):
        """None: the output is no sequence."""
        return None

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], inputs_shape[-1])
