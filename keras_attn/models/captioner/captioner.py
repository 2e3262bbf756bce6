"""A picture encoder, and a decoder with attention over its grid."""

import math

import keras
from keras import ops

from keras_attn.contracts import FEATURES, IMAGE, LOCATIONS, LOGITS, PAD_ID, TOKENS, WEIGHTS
from keras_attn.layers.masked_layer import carry_mask
from keras_attn.models.captioner.caption_decoder import CaptionDecoder
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.encoder_decoder import CrossWeights, EncoderDecoder
from keras_attn.models.vision_transformer.vision_sequence import VisionSequence
from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
from keras_attn.ops.rollout import attention_rollout


@keras.saving.register_keras_serializable(package="keras_attn")
class Captioner(EncoderDecoder):
    """Captioner of pictures.

    Two terms are added to the loss of `compile` (cross-entropy of the next piece): the attention's
    own objective if it samples locations (`HardAttention`), and the doubly stochastic penalty,
    which encourages a caption to attend to every location with total weight 1:

        λ · mean over captions and places i of (1 − Σ_t α_ti)², t over real (unpadded) steps

    Args:
        encoder: layer, uint8 or float (B, height, width, 3) in 0..255 -> (B, grid height, grid
            width, D); or -> (B, S, D), whose grid comes last, see `VisionSequence`.
        decoder: `CaptionDecoder` or `TransformerCaptionDecoder`.
        image_size: (height, width) in pixels.
        attention_penalty: float ≥ 0. λ.

    Call arguments:
        batch: dict with TOKENS (B, C, T), or (B, T) of one caption a picture, and IMAGE (B, height,
            width, 3) or FEATURES (B, S, D).

    Returns:
        dict: LOGITS float32 (B, C, T, V), with the mask of the real tokens, and WEIGHTS float32
        (B, C, T, S); if the attention samples locations in training, LOCATIONS int32 (B, C, T).
        Without C where the tokens have none. With K samples in training, all of them have C·K for
        C, and (B·K, T) without C; those of a caption are neighbors.

    Raises:
        ValueError: tokens, pictures or features of another shape.

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
        features = encoder.compute_output_shape((None, *self.image_size, 3))
        is_grid = len(features) == 4
        self.grid = tuple(features[1:3] if is_grid else encoder.grid(self.image_size))
        self.feature_shape = (math.prod(features[1:-1]), features[-1])

    def build(self, input_shape=None):
        if not self.encoder.built:
            self.encoder.build((None, *self.image_size, 3))
        if not self.decoder.built:
            self.decoder.build((None, *self.feature_shape), (None, None, None))

    def call(self, batch, training=None):
        tokens = batch[TOKENS]
        if len(tokens.shape) not in (2, 3):
            shape = tuple(tokens.shape)
            raise ValueError(
                f"Expected {TOKENS} of shape (B, T) or (B, C, T). Received: shape={shape}"
            )
        features, single = self._features(batch, training), len(tokens.shape) == 2
        captions = tokens[:, None] if single else tokens
        outputs = self.decoder(features, captions, training=training)
        if single:
            outputs = (ops.reshape(output, (-1, *ops.shape(output)[2:])) for output in outputs)
        named = dict(zip((LOGITS, WEIGHTS, LOCATIONS), outputs))
        real = ops.not_equal(self.for_samples(named, tokens), PAD_ID)
        return {**named, LOGITS: carry_mask(named[LOGITS], real)}

    def input_signature(self):
        image = keras.InputSpec(dtype="uint8", shape=(None, *self.image_size, 3))
        return {IMAGE: image, TOKENS: keras.InputSpec(dtype="int32", shape=(None, None, None))}

    def encode(self, images, training=None):
        """Images (B, height, width, 3) in 0..255 to features (B, S, D), row by row.

        Raises:
            ValueError: images of another shape.
        """
        _check_shape(IMAGE, images, (None, *self.image_size, 3), "(B, {1}, {2}, 3)")
        features = self.encoder(images, training=training)
        return ops.reshape(features, (-1, *self.feature_shape))

    def start(self, context, length):
        """Stepper: memory and state from images (B, height, width, 3), or a batch's dict."""
        batch = context if isinstance(context, dict) else {IMAGE: context}
        return self.decoder.start(self._features(batch, training=False), length)

    casts_uniformly = True
    """Whether casting the decoder's weights once changes nothing, see `serving.precision`."""

    @property
    def attends(self):
        """Kinds of attention that `attention` returns: those of a Transformer."""
        return ("cross",) if isinstance(self.decoder, TransformerCaptionDecoder) else ()

    def attention(self, batch):
        """`CrossWeights` of a batch with TOKENS (B, T), without dropout."""
        features = self._features(batch, training=False)
        return CrossWeights(self.decoder.cross_weights(features, batch[TOKENS]))

    @property
    def traces(self):
        """Whether `traced` is defined: the decoder attends to a Vision Transformer's output."""
        is_transformer = isinstance(self.decoder, TransformerCaptionDecoder)
        read = is_transformer and not self.decoder.num_encoder_layers
        return read and isinstance(self.encoder, VisionSequence | VisionTransformer)

    def traced(self, images, weights):
        """Attention to the encoder's output, traced to the patches by attention rollout.

        What a word attends to has mixed all patches, and a class token holds nothing but them.

            traced = W · R,  R the rollout of the encoder's blocks, see `attention_rollout`

        Args:
            images: (B, height, width, 3) in 0..255.
            weights: float (B, T, S), W.

        Returns:
            float32 (B, T, P), the share of each of the P patches; if rows of weights sum to 1, rows
            sum to 1 less the share of what the class token and registers began with.
        """
        encoder = self.encoder
        vision = encoder.encoder if isinstance(encoder, VisionSequence) else encoder
        _, layers = vision.pool(images, training=False)
        rollout = attention_rollout(layers)
        read, patches = ops.shape(weights)[-1], math.prod(self.grid)
        return ops.matmul(ops.cast(weights, "float32"), rollout[:, -read:, -patches:])

    def encoded(self, features):
        """A dict with FEATURES, which stands for a batch's IMAGE."""
        return {FEATURES: self._features(features, training=False)}

    def _features(self, batch, training):
        if FEATURES in batch:
            shape = (None, None, self.feature_shape[1])
            _check_shape(FEATURES, batch[FEATURES], shape, "(B, S, {2})")
            return batch[FEATURES]
        if IMAGE in batch:
            return self.encode(batch[IMAGE], training=training)
        raise ValueError(
            f"Expected {IMAGE!r} or {FEATURES!r} in the batch. Received: {list(batch)}"
        )


def _check_shape(name, tensor, expected, words):
    """Raises ValueError for a tensor of another shape; None is any size."""
    shape = tuple(tensor.shape)
    is_equal = all(None in (size, given) or size == given for size, given in zip(expected, shape))
    if len(shape) != len(expected) or not is_equal:
        raise ValueError(
            f"Expected {name} of shape {words.format(*expected)}. Received: shape={shape}"
        )
