"""A picture encoder and a text encoder whose vectors can be compared."""

import math

import keras
from keras import ops

from keras_attn.checks import check_sizes
from keras_attn.contracts import IMAGE, TOKENS
from keras_attn.models.base_model import BaseModel
from keras_attn.models.dual_encoder.text_encoder import TextEncoder
from keras_attn.models.vision_transformer.picture_vector import picture_vector, picture_width

FIRST_SCALE = math.log(1 / 0.07)
MOST_SCALE = math.log(100)


@keras.saving.register_keras_serializable(package="keras_attn")
class DualEncoder(BaseModel):
    """Pictures and texts as unit vectors of one space, and how similar they are.

        u = norm(W_u picture vector),  v = norm(W_v text vector),  logits = e^s U Vᵀ

    `compile` it with `ContrastiveLoss` to train it on pictures with captions. Training keeps
    s ≤ ln 100.

    Args:
        image_encoder: `VisionTransformer`, or any layer from images to a grid (B, grid height, grid
            width, D) or a sequence (B, S, D), whose mean is a picture's vector.
        text_encoder: `TextEncoder`.
        image_size: (height, width) in pixels.
        projection_dim: int > 0. P.

    Call arguments:
        batch: dict with IMAGE uint8 or float (B, height, width, 3), RGB pixels in 0..255, and
            TOKENS int32 (C, T), START_ID, pieces, END_ID, then PAD_ID.
        training: bool.

    Returns:
        logits: float32 (B, C), of pictures by texts.

    Raises:
        ValueError: projection_dim < 1, sizes < 1, or another text encoder.

    Example:
        >>> from keras_attn.models import SmallConvEncoder
        >>> text = TextEncoder(vocabulary_size=13, num_layers=1, hidden_dim=6, num_heads=2)
        >>> model = DualEncoder(SmallConvEncoder((5, 7), (2, 2)), text, (13, 11), 3)
        >>> tokens = ops.array([[2, 7, 3], [2, 3, 0], [2, 5, 3]])
        >>> tuple(model({"image": ops.zeros((2, 13, 11, 3)), "tokens": tokens}).shape)
        (2, 3)
        >>> tuple(model.encode_texts(tokens).shape)
        (3, 3)

    Source: Radford et al. 2021, arXiv:2103.00020, 2.3 and 2.4.
    """

    def __init__(self, image_encoder, text_encoder, image_size, projection_dim=512, **kwargs):
        super().__init__(**kwargs)
        check_sizes(projection_dim=projection_dim)
        if not isinstance(text_encoder, TextEncoder):
            raise ValueError(f"Expected a TextEncoder. Received: text_encoder={text_encoder!r}")
        if len(image_size) != 2 or min(image_size) < 1:
            raise ValueError(f"Expected two sizes >= 1. Received: image_size={image_size}")
        self.image_encoder, self.text_encoder = image_encoder, text_encoder
        self.image_size, self.projection_dim = tuple(image_size), projection_dim
        self.image_projection, self.text_projection = (
            keras.layers.Dense(projection_dim, use_bias=False, name=name, dtype="float32")
            for name in ("image_projection", "text_projection")
        )

    def build(self, input_shape=None):
        images = (None, *self.image_size, 3)
        if not self.image_encoder.built:
            self.image_encoder.build(images)
        if not self.text_encoder.built:
            self.text_encoder.build()
        self.image_projection.build((None, picture_width(self.image_encoder, images)))
        self.text_projection.build((None, self.text_encoder.config.hidden_dim))
        self.logit_scale = self.add_weight(
            shape=(),
            initializer=keras.initializers.Constant(FIRST_SCALE),
            constraint=ScaleLimit(),
            dtype="float32",
            name="logit_scale",
        )

    def call(self, batch, training=None):
        images = self.encode_images(batch[IMAGE], training)
        texts = self.encode_texts(batch[TOKENS], training)
        return ops.exp(self.logit_scale) * ops.matmul(images, ops.transpose(texts))

    def encode_images(self, images, training=None):
        """Pictures (B, height, width, 3) to unit vectors, float32 (B, P)."""
        vectors = picture_vector(self.image_encoder, images, training)
        return _normalized(self.image_projection(vectors))

    def encode_texts(self, tokens, training=None):
        """Texts int32 (C, T) to unit vectors, float32 (C, P)."""
        vectors, _ = self.text_encoder.pool(tokens, training, return_attention_scores=False)
        return _normalized(self.text_projection(vectors))

    def float32_layers(self):
        """Layers that compute in float32 under any precision: those of the vectors."""
        return [self.image_projection, self.text_projection]

    def input_signature(self):
        image = keras.InputSpec(dtype="uint8", shape=(None, *self.image_size, 3))
        return {IMAGE: image, TOKENS: keras.InputSpec(dtype="int32", shape=(None, None))}


@keras.saving.register_keras_serializable(package="keras_attn")
class ScaleLimit(keras.constraints.Constraint):
    """At most ln 100, which keeps the training of a temperature stable."""

    def __call__(self, value):
        return ops.minimum(value, MOST_SCALE)


def _normalized(vectors):
    """Vectors of length 1; those of length 0 stay so."""
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squares, 1e-24))
