"""The Transformer's encoder."""

import keras

from keras_attn.layers.learned_positions import LearnedPositions
from keras_attn.layers.masked_layer import MaskedLayer, carry_mask, sequence_mask
from keras_attn.layers.residual import make_normalization
from keras_attn.layers.sinusoidal_positions import SinusoidalPositions
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.models.base_model import config_of
from keras_attn.models.transformer.transformer_config import (
    LEARNED,
    SINUSOIDAL,
    TransformerConfig,
)


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
        self.positions, self.dropout, self.last_norm = make_ends(config, policy)
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
        hidden = inputs if self.positions is None else self.positions(inputs)
        hidden = self.dropout(hidden, training=training)
        for block in self.blocks:
            hidden, attended = block(
                hidden,
                mask=mask,
                attention_mask=attention_mask,
                return_attention_scores=True,
                training=training,
                use_causal_mask=use_causal_mask,
            )
            weights.append(attended)
        if self.last_norm is not None:
            hidden = self.last_norm(hidden)
        hidden = carry_mask(hidden, mask)
        return (hidden, tuple(weights)) if return_attention_scores else hidden

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def make_ends(config, policy):
    """Positions before a stack, dropout, and the last normalization; None where it has none."""
    positions = norm = None
    if config.positions == LEARNED:
        stddev = keras.initializers.RandomNormal(stddev=0.02)
        positions = LearnedPositions(
            config.max_sequence_length, initializer=stddev, name="positions", dtype=policy
        )
    elif config.positions == SINUSOIDAL:
        positions = SinusoidalPositions(name="positions", dtype=policy)
    if config.normalize_first:
        kind, epsilon = config.normalization, config.epsilon
        norm = make_normalization(kind, epsilon, name="last_norm", dtype=policy)
    return positions, keras.layers.Dropout(config.dropout, name="dropout", dtype=policy), norm


def build_ends(stack, shape):
    """Builds what a stack has beside its blocks."""
    for layer in filter(None, (stack.positions, stack.last_norm)):
        layer.build(shape)
    if stack.relative is not None:
        stack.relative.build((None,))
