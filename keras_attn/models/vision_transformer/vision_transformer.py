"""The Vision Transformer."""

import keras
from keras import ops

from keras_attn.layers.attention_layer import call_scored
from keras_attn.layers.base_layer import BaseLayer
from keras_attn.layers.grid_positions import GridPositions
from keras_attn.layers.patch_encoder import PatchEncoder
from keras_attn.layers.transformer_encoder_block import TransformerEncoderBlock
from keras_attn.models.base_model import config_of
from keras_attn.models.vision_transformer.grid_rotary_positions import GridRotaryPositions
from keras_attn.models.vision_transformer.multi_head_pooling import MultiHeadPooling
from keras_attn.models.vision_transformer.vision_transformer_config import (
    ATTENTION,
    TOKEN,
    VisionTransformerConfig,
)


@keras.saving.register_keras_serializable(package="keras_attn")
class VisionTransformer(BaseLayer):
    """A Transformer encoder over the patches of a picture.

        z_0 = [x_class; x_1 E; …; x_S E] + E_pos,  z_n = block_n(z_{n−1}),  y = LN(z_N)

    The layer normalizes the pixels itself, (x / 255 − μ) / σ, and its constructor creates all
    variables. Pictures may have another static size than `config.image_size`: the positions are
    interpolated, see `GridPositions`.

    Args:
        config: `VisionTransformerConfig`, or its fields as keywords. Its `num_classes` is for an
            `ImageClassifier`.

    Call arguments:
        images: uint8 or float (B, height, width, 3), RGB pixels in 0..255; height and width
            multiples of the patch size.
        training: bool.

    Returns:
        features: (B, height / P, width / P, D), compute dtype: y of the patches, or z_N.

    Raises:
        ValueError: a size that is not a multiple of the patch size, or unknown.

    Example:
        >>> sizes = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2)
        >>> encoder = VisionTransformer(sizes)
        >>> tuple(encoder(ops.zeros((2, 15, 21, 3))).shape)
        (2, 5, 7, 10)
        >>> vector, weights = encoder.pool(ops.zeros((2, 9, 33, 3)))
        >>> tuple(vector.shape), [tuple(value.shape) for value in weights]
        ((2, 10), [(2, 2, 34, 34), (2, 2, 34, 34)])

    Source: Dosovitskiy et al. 2021, arXiv:2010.11929, 3.1. Differs: no dropout between the two
    layers of the feed-forward net.
    """

    def __init__(self, config=None, **kwargs):
        config = config_of(VisionTransformerConfig, config, kwargs)
        super().__init__(autocast=False, **kwargs)
        self.config, policy = config, self.dtype_policy
        normal = keras.initializers.RandomNormal(stddev=0.02)
        self.patches = PatchEncoder(
            config.patch_size, config.hidden_dim, name="patches", dtype=policy
        )
        self.positions = None
        if config.rotary_base is None:
            self.positions = GridPositions(
                *config.grid,
                initializer=normal,
                antialias=config.antialias_positions,
                name="positions",
                dtype=policy,
            )
        self.dropout = keras.layers.Dropout(config.dropout, name="dropout", dtype=policy)
        self.blocks = [
            TransformerEncoderBlock(
                **config.block, positions=self._rotary(), name=f"block_{n}", dtype=policy
            )
            for n in range(config.num_layers)
        ]
        self.last_norm = keras.layers.LayerNormalization(
            epsilon=config.epsilon, name="last_norm", dtype=policy
        )
        self.first_norm = self.pooling = None
        if config.normalize_embeddings:
            self.first_norm = keras.layers.LayerNormalization(
                epsilon=config.epsilon, name="first_norm", dtype=policy
            )
        if config.pooling == ATTENTION:
            sizes = (config.num_heads, config.intermediate_dim, config.activation, config.epsilon)
            self.pooling = MultiHeadPooling(*sizes, name="pooling", dtype=policy)
        self.representation = None
        if config.representation_dim:
            self.representation = keras.layers.Dense(
                config.representation_dim, "tanh", name="representation", dtype=policy
            )
        self.build((None, *config.image_size, 3))

    def _rotary(self):
        """The positions inside a block's attention, or None."""
        if self.config.rotary_base is None:
            return None
        before = self.config.num_registers + (self.config.pooling == TOKEN)
        return GridRotaryPositions(
            *self.config.grid, before, self.config.rotary_base, dtype=self.dtype_policy
        )

    def build(self, images_shape):
        units = self.config.hidden_dim
        if self.config.pooling == TOKEN:
            normal = keras.initializers.RandomNormal(stddev=0.02)
            self.token = self._vector("zeros", "token")
            self.token_position = self._vector(normal, "token_position")
        if self.config.num_registers:
            shape = (self.config.num_registers, units)
            normal = keras.initializers.RandomNormal(stddev=0.02)
            self.registers = self.add_weight(shape=shape, initializer=normal, name="registers")
        self.patches.build((None, None, None, 3))
        if self.positions is not None:
            self.positions.build((None, None, None, units))
        for layer in filter(None, (*self.blocks, self.last_norm, self.first_norm, self.pooling)):
            layer.build((None, None, units))
        if self.representation is not None:
            self.representation.build((None, units))
        parts = [self.patches, self.positions, *self.blocks, self.last_norm]
        for layer in filter(None, (*parts, self.first_norm, self.pooling, self.representation)):
            layer.trainable = self.trainable  # Keras hands on changes of the flag only.

    def _vector(self, initializer, name):
        shape = (self.config.hidden_dim,)
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def call(self, images, training=None):
        _, height, width, units = self.compute_output_shape(images.shape)
        hidden, _ = self._read(images, training, False, self.config.normalize_patches)
        patches = hidden[:, -height * width :]
        return ops.reshape(patches, (-1, height, width, units))

    def sequence(self, images, training=None):
        """y of all tokens, compute dtype (B, S, D): the class token and registers, if there are
        any, then the patches row by row."""
        return self._read(images, training, False)[0]

    def pool(
        self, images, training=None, return_pooling_scores=False, *, return_attention_scores=True
    ):
        """One vector per picture, and the attention weights of every block.

        Args:
            images: as in the call.
            training: bool.
            return_pooling_scores: bool.
            return_attention_scores: bool. Whether there are weights, instead of ().

        Returns:
            vector: (B, D), compute dtype, y of the class token, the mean of y or what a query reads
                from it; or (B, R), its representation.
            weights: tuple of N float32 (B, H, S, S), by block, before dropout; the class token is
                the first of S, then registers, then the patches row by row.
            scores: with return_pooling_scores, float32 (B, H, S), the weights of the pooling's
                query; None where pooling is not "attention".
        """
        hidden, weights = self._read(images, training, return_attention_scores)
        scores = None
        if self.pooling is not None:
            pooled, scores = self.pooling(hidden)
        else:
            pooled = hidden[:, 0] if self.config.pooling == TOKEN else ops.mean(hidden, axis=1)
        if self.representation is not None:
            pooled = self.representation(pooled)
        return (pooled, weights, scores) if return_pooling_scores else (pooled, weights)

    def _read(self, images, training, return_attention_scores, normalize=True):
        """y (B, S, D) or z_N, the class token first, and the blocks' weights."""
        hidden, weights = self.dropout(self._embed(images), training=training), []
        options = {"return_attention_scores": return_attention_scores, "training": training}
        for block in self.blocks:
            hidden, *attended = call_scored(block, hidden, **options)
            weights.extend(attended)
        return self.last_norm(hidden) if normalize else hidden, tuple(weights)

    def _embed(self, images):
        """z_0 (B, S, D)."""
        mean, deviation = (
            ops.convert_to_tensor(constant, "float32")
            for constant in (self.config.pixel_mean, self.config.pixel_deviation)
        )
        pixels = (ops.cast(images, "float32") / 255.0 - mean) / deviation
        grid = self.patches(ops.cast(pixels, self.compute_dtype))
        _, height, width, units = grid.shape
        if self.positions is not None:
            grid = self.positions(grid)
        elif (height, width) != self.config.grid:
            raise ValueError(
                f"Expected pictures of image_size={self.config.image_size}, for which the rotary "
                f"positions are. Received: {tuple(images.shape)}"
            )
        embedded = [ops.reshape(grid, (-1, height * width, units))]
        if self.config.num_registers:
            embedded.insert(0, self._of_each(self.registers, embedded[0]))
        if self.config.pooling == TOKEN:
            token = self.token + self.token_position
            embedded.insert(0, self._of_each(token[None], embedded[0]))
        embedded = ops.concatenate(embedded, axis=1) if len(embedded) > 1 else embedded[0]
        return embedded if self.first_norm is None else self.first_norm(embedded)

    def _of_each(self, tokens, rows):
        """Tokens (n, D) for each of the rows (B, ...), (B, n, D), compute dtype."""
        tokens = ops.cast(tokens, self.compute_dtype)
        return ops.broadcast_to(tokens, (ops.shape(rows)[0], *tokens.shape))

    def compute_output_shape(self, images_shape):
        return self.patches.compute_output_shape(images_shape)
