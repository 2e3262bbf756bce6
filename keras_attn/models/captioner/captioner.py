"""A picture encoder, and a decoder with attention over its grid."""

import keras
from keras import ops

from keras_attn.contracts import FEATURES, IMAGE, LOCATIONS, LOGITS, PAD_ID, TOKENS, WEIGHTS
from keras_attn.layers.attention_layer import carry_mask
from keras_attn.models.captioner.caption_decoder import CaptionDecoder
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.encoder_decoder import EncoderDecoder
from keras_attn.ops.masks import zero_masked
from keras_attn.ops.replicas import global_mean


@keras.saving.register_keras_serializable(package="keras_attn")
class Captioner(EncoderDecoder):
    """Captioner of pictures.

    Two terms are added to the loss of `compile` (cross-entropy of the next piece): the attention's
    own objective if it samples locations (`HardAttention`), and the doubly stochastic penalty,
    which encourages a caption to attend to every location with total weight 1:

        λ · mean over captions and places i of (1 − Σ_t α_ti)², t over real (unpadded) steps

    Args:
        encoder: layer, uint8 or float (B, height, width, 3) in 0..255 -> (B, grid height, grid
            width, D).
        decoder: `CaptionDecoder` or `TransformerCaptionDecoder`.
        image_size: (height, width) in pixels.
        attention_penalty: float ≥ 0. λ.

    Call arguments:
        batch: dict with TOKENS (B, C, T) and IMAGE (B, height, width, 3) or FEATURES (B, S, D).

    Returns:
        dict: LOGITS float32 (B, C, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, C, T, S); if the attention samples locations in training, LOCATIONS int32 (B, C, T).

    Source: Xu et al. 2015, arXiv:1502.03044. Differs: the penalty is a mean over locations, so that
    λ does not depend on the grid.
    """

    def __init__(self, encoder, decoder, image_size, attention_penalty=1.0, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(decoder, CaptionDecoder | TransformerCaptionDecoder):
            raise ValueError(
                "Expected a CaptionDecoder or a TransformerCaptionDecoder. "
                f"Received: decoder={decoder!r}"
            )
        if not attention_penalty >= 0:
            raise ValueError(
                f"Expected attention_penalty >= 0. Received: attention_penalty={attention_penalty}"
            )
        if len(image_size) != 2 or min(image_size) < 1:
            raise ValueError(f"Expected two sizes >= 1. Received: image_size={image_size}")
        self.encoder, self.decoder = encoder, decoder
        self.image_size = tuple(image_size)
        self.attention_penalty = attention_penalty
        grid = encoder.compute_output_shape((None, *self.image_size, 3))
        self.grid = tuple(grid[1:3])
        self.feature_shape = (grid[1] * grid[2], grid[3])

    def build(self, input_shape=None):
        if not self.encoder.built:
            self.encoder.build((None, *self.image_size, 3))
        if not self.decoder.built:
            self.decoder.build((None, *self.feature_shape), (None, None, None))

    def call(self, batch, training=None):
        tokens = batch[TOKENS]
        features = self._features(batch, training)
        logits, *others = self.decoder(features, tokens, training=training)
        logits = carry_mask(logits, ops.not_equal(tokens, PAD_ID))
        return dict(zip((LOGITS, WEIGHTS, LOCATIONS), (logits, *others)))

    def input_signature(self):
        """See `BaseModel`."""
        image = keras.InputSpec(dtype="uint8", shape=(None, *self.image_size, 3))
        return {IMAGE: image, TOKENS: keras.InputSpec(dtype="int32", shape=(None, None, None))}

    def added_loss(self, x, y, y_pred):
        """Terms added to the compiled loss, from the attention weights and sampled locations."""
        added = None
        if self.attention_penalty:
            added = self.attention_penalty * self._penalty(x[TOKENS], y_pred[WEIGHTS])
        if LOCATIONS in y_pred:
            sampled = self._sampling_loss(y, y_pred)
            added = sampled if added is None else added + sampled
        return added

    def encode(self, images, training=None):
        """Images (B, height, width, 3) in 0..255 to features (B, S, D), row by row."""
        grid = self.encoder(images, training=training)
        return ops.reshape(grid, (-1, *self.feature_shape))

    def start(self, context, length):
        """Stepper: memory and state from images (B, height, width, 3), or a batch's dict."""
        batch = context if isinstance(context, dict) else {IMAGE: context}
        return self.decoder.start(self._features(batch, training=False), length)

    def cross_weights(self, batch):
        """Attention to the picture by every layer and head of a Transformer: (B, C, N, H, T, S)."""
        return self.decoder.cross_weights(self._features(batch, training=False), batch[TOKENS])

    def _features(self, batch, training):
        if FEATURES in batch:
            return batch[FEATURES]
        if IMAGE in batch:
            return self.encode(batch[IMAGE], training=training)
        raise ValueError(
            f"Expected {IMAGE!r} or {FEATURES!r} in the batch. Received: {list(batch)}"
        )

    def _penalty(self, tokens, weights):
        looked_at = ops.sum(zero_masked(weights, tokens != PAD_ID), axis=2)
        penalty = ops.mean(ops.square(1.0 - looked_at), axis=-1)
        captions = ops.cast(ops.any(tokens != PAD_ID, axis=-1), "float32")
        return global_mean(penalty, captions)

    def _sampling_loss(self, targets, output):
        """The loss of the sampled locations of all captions."""
        length, locations = ops.shape(targets)[2], self.feature_shape[0]
        return self.decoder.attention.sampler.loss(
            ops.reshape(targets, (-1, length)),
            ops.reshape(output[LOGITS], (-1, length, output[LOGITS].shape[-1])),
            ops.reshape(output[WEIGHTS], (-1, length, locations)),
            ops.reshape(output[LOCATIONS], (-1, length)),
        )

    def get_config(self):
        config = {
            "encoder": keras.saving.serialize_keras_object(self.encoder),
            "decoder": keras.saving.serialize_keras_object(self.decoder),
            "image_size": list(self.image_size),
            "attention_penalty": self.attention_penalty,
        }
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        encoder = keras.saving.deserialize_keras_object(config.pop("encoder"))
        decoder = keras.saving.deserialize_keras_object(config.pop("decoder"))
        return cls(encoder, decoder, **config)
