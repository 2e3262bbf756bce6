"""The Transformer's encoder."""

from dataclasses import asdict

import keras

from keras_attn.layers.learned_positions import LearnedPositions
from keras_attn.layers.residual import PRE
from keras_attn.layers.sinusoidal_positions import SinusoidalPositions
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.models.transformer_config import LEARNED, TransformerConfig


@keras.saving.register_keras_serializable(package="keras_attn")
class TransformerEncoder(keras.layers.Layer):
    """Positions, dropout, N encoder blocks and, pre-norm, a last normalization.

    Args:
        config: `TransformerConfig`.

    Call arguments:
        inputs: float (B, S, D). Embedded tokens, or features of any other kind.
        keys_mask: bool (B, S); True = attend.

    Returns:
        outputs: (B, S, D), compute dtype.
        weights: tuple of N float32 (B, H, S, S), by layer.

    Source: Vaswani et al. 2017, arXiv:1706.03762, 3.1.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.positions, self.dropout, self.last_norm = make_ends(config, self.dtype_policy)
        self.blocks = [
            TransformerEncoderBlock(**config.block, name=f"block_{n}", dtype=self.dtype_policy)
            for n in range(config.layers)
        ]

    def build(self, inputs_shape):
        shape = (None, None, self.config.model_units)
        for layer in (self.positions, *self.blocks, *filter(None, [self.last_norm])):
            layer.build(shape)

    def call(self, inputs, keys_mask=None, training=None):
        hidden, weights = self.dropout(self.positions(inputs), training=training), []
        for block in self.blocks:
            hidden, attended = block(hidden, keys_mask=keys_mask, training=training)
            weights.append(attended)
        if self.last_norm is not None:
            hidden = self.last_norm(hidden)
        return hidden, tuple(weights)

    def compute_mask(self, *args, **kwargs):
        """No mask goes on: pass masks explicitly where a later layer wants them."""
        return None

    def get_config(self):
        return {**super().get_config(), "config": asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        return cls(TransformerConfig(**config.pop("config")), **config)


def make_ends(config, policy):
    """Positions, dropout and the last normalization (None for post-norm) of a stack."""
    if config.positions == LEARNED:
        stddev = keras.initializers.RandomNormal(stddev=0.02)
        positions = LearnedPositions(
            config.max_length, initializer=stddev, name="positions", dtype=policy
        )
    else:
        positions = SinusoidalPositions(name="positions", dtype=policy)
    norm = None
    if config.norm == PRE:
        norm = keras.layers.LayerNormalization(
            epsilon=config.epsilon, name="last_norm", dtype=policy
        )
    return positions, keras.layers.Dropout(config.dropout, name="dropout", dtype=policy), norm
