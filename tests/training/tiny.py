"""A tiny captioner and batches for it, for tests of training and serving."""

import numpy as np

from keras_attn.contracts import END_ID, IMAGE, PAD_ID, START_ID, TOKENS
from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.captioner.captioner import Captioner
from keras_attn.models.captioner.soft_attention import SoftAttention
from keras_attn.models.captioner.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder
from keras_attn.models.transformer.transformer_config import TransformerConfig

SIZE = (11, 13)
VOCABULARY = 17


def captioner(vocabulary=VOCABULARY, penalty=0.7, dropout=0.0, size=SIZE):
    """A built captioner with a grid of 3×4 cells (for the default size)."""
    decoder = CaptionDecoder(
        CaptionDecoderConfig(vocabulary, 5, 7, 3, dropout), SoftAttention(5), name="decoder"
    )
    model = Captioner(SmallConvEncoder((3, 5), (2, 2)), decoder, size, penalty)
    model.build()
    return model


def transformer_captioner(vocabulary=VOCABULARY, penalty=0.7, num_encoder_layers=1, size=SIZE):
    """As `captioner`, with a Transformer in the place of the recurrent decoder."""
    sizes = TransformerConfig(
        vocabulary, None, 2, 6, 11, 2, 3, 3, 0.0, normalize_first=True, tied="decoder"
    )
    decoder = TransformerCaptionDecoder(sizes, num_encoder_layers, name="decoder")
    model = Captioner(SmallConvEncoder((3, 5), (2, 2)), decoder, size, penalty)
    model.build()
    return model


def batch(pictures=4, captions=3, length=5, seed=0):
    """inputs, targets, weights; uneven captions, and a last picture that is filling."""
    random = np.random.default_rng(seed)
    tokens = np.full((pictures, captions, length), PAD_ID, "int32")
    targets = tokens.copy()
    for row in range(pictures - 1):
        for column in range(1 + row % captions):
            count = random.integers(1, length)
            words = random.integers(END_ID + 1, VOCABULARY, count)
            tokens[row, column, : count + 1] = [START_ID, *words]
            targets[row, column, : count + 1] = [*words, END_ID]
    images = random.integers(0, 256, (pictures, *SIZE, 3)).astype("uint8")
    return {IMAGE: images, TOKENS: tokens}, targets, (targets != PAD_ID).astype("float32")
