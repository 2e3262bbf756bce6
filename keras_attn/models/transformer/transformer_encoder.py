"""The Transformer's encoder."""

import keras

from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.residual import make_normalization
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import TransformerConfig


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerEncoder(MaskedLayer):
    """Positions, dropout, N encoder blocks and, where they normalize first, a last normalization.

    Args:
        config: `TransformerConfig`, or its fields as keywords.

    Call arguments:
        inputs: float (B, S, D). Embedded tokens, or features of any other kind.
        mask: bool (B, S); True = attend. Filled in by Keras.
        attention_mask: bool, broadcastable to (B, S, S). All masks must allow a position.
        return_attention_scores: bool.
        use_causal_mask: bool. Position t sees positions 0 to t only.

    Returns:
        outputs: (B, S, D), compute dtype, with the inputs' mask.
        weights: with return_attention_scores, tuple of N float32 (B, H, S, S), by layer.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1.
    """

    def __init__(self, config=None, **kwargs):
        config = config_of(TransformerConfig, config, kwargs)
        super().__init__(**kwargs)
        self.config = config
        policy = self.dtype_policy
        make_ends(self, config, policy)
        self.relative = config.relative_positions(name="relative", dtype=policy)
        self.blocks = [
            TransformerEncoderBlock(
                **config.block, positions=self.relative, name=f"block_{n}", dtype=policy
            )
            for n in range(config.num_layers)
        ]

    def build(self, inputs_shape=None):
        shape = (None, None, self.config.hidden_dim)
        build_ends(self, shape)
        for block in self.blocks:
            block.build(shape)

    def call(
        self,
        inputs,
        mask=None,
        attention_mask=None,
        return_attention_scores=False,
        training=None,
        use_causal_mask=False,
    ):
        mask, weights = sequence_mask(inputs, mask=mask), []
        hidden = enter_stack(self, inputs, training)
        for block in self.blocks:
            hidden, *attended = call_scored(
                block,
                hidden,
                mask=mask,
                attention_mask=attention_mask,
                return_attention_scores=return_attention_scores,
                training=training,
                use_causal_mask=use_causal_mask,
            )
            weights.extend(attended)
        if self.last_norm is not None:
            hidden = self.last_norm(hidden)
        hidden = carry_mask(hidden, mask)
        return (hidden, tuple(weights)) if return_attention_scores else hidden

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def make_ends(stack, config, policy):
    """Gives a stack what it has beside its blocks; what the config leaves out is None.

    positions, first_norm and dropout before the blocks, last_norm after them: in this order, in
    which SavedModels and checkpoints have their variables.
    """
    stack.positions = config.added_positions(name="positions", dtype=policy)
    stack.first_norm = stack.last_norm = None
    kind, epsilon = config.normalization, config.epsilon
    if config.normalize_embeddings:
        stack.first_norm = make_normalization(kind, epsilon, name="first_norm", dtype=policy)
    stack.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)
    if config.normalize_first:
        stack.last_norm = make_normalization(kind, epsilon, name="last_norm", dtype=policy)


def build_ends(stack, shape):
    """Builds what a stack has beside its blocks."""
    for layer in filter(None, (stack.positions, stack.first_norm, stack.last_norm)):
        layer.build(shape)
    if stack.relative is not None:
        stack.relative.build((None,))


def enter_stack(stack, embedded, training=None, **where):
    """Embeddings (N, T, D) as the first block of a stack reads them.

    Args:
        stack: layer that `make_ends` has seen.
        embedded: float (N, T, D).
        training: bool.
        **where: arguments of the positions.
    """
    hidden = embedded if stack.positions is None else stack.positions(embedded, **where)
    hidden = hidden if stack.first_norm is None else stack.first_norm(hidden)
    return stack.dropout(hidden, training=training)
