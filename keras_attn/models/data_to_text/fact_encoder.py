"""The encoder of sets of facts: a Transformer over their graph."""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.field_positions import FieldPositions
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.relation_bias import RelationBias
from keras_attn.layers.residual import make_normalization
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import TransformerConfig
from keras_attn.ops.fact_relations import NUM_RELATIONS, ROLES, fact_relations
from keras_attn.ops.masks import zero_masked


class FactTokens(NamedTuple):
    """What is known of each piece of a set of facts: the columns of SOURCE, int32 (B, S) each.

    Attributes:
        pieces: id of the piece; PAD_ID for padding, where all else is 0 too.
        facts: number of its fact, from 1.
        roles: 1 in the subject, 2 in the property, 3 in the object.
        nodes: number of its name, from 1; equal names have the same.
        fields: id of its fact's property, for the link matrix.
        starts: position from the start of the name, from 0.
        ends: position from the end of the name, from 0.
    """

    pieces: Any
    facts: Any
    roles: Any
    nodes: Any
    fields: Any
    starts: Any
    ends: Any

    @classmethod
    def of(cls, source):
        """The columns of SOURCE, int32 (B, S, 7)."""
        return cls(*(source[..., column] for column in range(len(cls._fields))))


@keras.saving.register_keras_serializable(package="keras_attn")
class FactEncoder(MaskedLayer):
    """Encoder blocks over the pieces of facts, whose attention is biased by their relations.

    Pieces know their role, their position in their name and the piece before them in it, by which
    a decoder that has copied that one finds them. They know no order of facts: where the facts are
    permuted, the outputs are permuted likewise.

    Args:
        config: `TransformerConfig`, or its fields as keywords; its `positions` are not used.
        num_positions: int > 0. Positions in a name that have vectors of their own.

    Call arguments:
        inputs: float (B, S, D). Embedded pieces.
        source: int32 (B, S, 7), see `FactTokens`.
        mask: bool (B, S); True = attend. Filled in by Keras.
        return_attention_scores: bool.

    Returns:
        outputs: (B, S, D), compute dtype, with the inputs' mask.
        weights: with return_attention_scores, tuple of N float32 (B, H, S, S), by layer.

    Source: Transformer encoder: Vaswani et al. 2017, arXiv:1706.03762, 3.1; biases of relations:
    see `RelationBias`; positions: see `FieldPositions`.
    """

    ranks = {"inputs": (3,), "source": (3,)}

    def __init__(self, config=None, num_positions=30, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config, self.num_positions = config, num_positions
        policy = self.dtype_policy
        self.positions = FieldPositions(ROLES + 1, num_positions, name="positions", dtype=policy)
        self.before = keras.layers.Dense(
            config.hidden_dim, use_bias=False, name="before", dtype=policy
        )
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)
        self.blocks = [
            TransformerEncoderBlock(**config.block, name=f"block_{n}", dtype=policy)
            for n in range(config.num_layers)
        ]
        self.biases = [
            RelationBias(NUM_RELATIONS, config.num_heads, name=f"bias_{n}", dtype=policy)
            for n in range(config.num_layers)
        ]
        self.last_norm = None
        if config.normalize_first:
            kind, epsilon = config.normalization, config.epsilon
            self.last_norm = make_normalization(kind, epsilon, name="last_norm", dtype=policy)

    def build(self, inputs_shape=None, source_shape=None):
        shape = (None, None, self.config.hidden_dim)
        for layer in (self.positions, self.before, *self.blocks, *filter(None, [self.last_norm])):
            layer.build(shape)
        for bias in self.biases:
            bias.build()

    def call(
        self,
        inputs,
        source,
        mask=None,
        return_attention_scores=False,
        training=None,
    ):
        mask, weights, tokens = sequence_mask(inputs, mask=mask), [], FactTokens.of(source)
        relations = fact_relations(tokens.facts, tokens.roles, tokens.nodes)
        inputs = zero_masked(inputs, mask)
        before = ops.pad(inputs[:, :-1], [[0, 0], [1, 0], [0, 0]])
        hidden = inputs + self.before(zero_masked(before, tokens.starts > 0))
        hidden = self.positions(hidden, tokens.roles, tokens.starts, tokens.ends)
        hidden = self.dropout(hidden, training=training)
        for block, bias in zip(self.blocks, self.biases):
            hidden, *attended = call_scored(
                block,
                hidden,
                mask=mask,
                attention_bias=bias(relations),
                return_attention_scores=return_attention_scores,
                training=training,
            )
            weights.extend(attended)
        if self.last_norm is not None:
            hidden = self.last_norm(hidden)
        hidden = carry_mask(hidden, mask)
        return (hidden, tuple(weights)) if return_attention_scores else hidden

    def compute_output_shape(self, inputs_shape, source_shape=None):
        return inputs_shape
