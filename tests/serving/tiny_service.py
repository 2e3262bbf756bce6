"""A tiny captioner as a service, and pictures for it, for tests of serving."""

import io

import keras
import numpy as np
from PIL import Image

from keras_attn.contracts import END_ID
from keras_attn.decoding import Beam
from keras_attn.images.picture_format import PictureFormat
from keras_attn.models import Familiarity
from keras_attn.serving import AnswerLength, GenerationService, answer_familiarity
from keras_attn.serving.readers import PictureReader
from keras_attn.serving.views import CAPTION_VIEWS
from keras_attn.serving.writers import TextWriter
from keras_attn.text.tokenizer import Tokenizer
from tests.training import tiny

LENGTH = 7
TEXTS = ["a red dog", "two blue dogs"]


def picture(seed, size=(13, 11), kind="PNG"):
    """An encoded picture of noise, width × height."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), "uint8")
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind)
    return data.getvalue()


PICTURES = [picture(1), picture(2, (40, 23), "JPEG"), b"<html>", picture(3), b""]


def caption_service(strategy=None):
    """An untrained service that answers with whole words of TEXTS, and ends most captions.

    Whole words, because their pieces are the ones that the tokenizer finds in the decoded text.
    """
    keras.utils.set_random_seed(37)
    tokenizer = Tokenizer.learn(TEXTS, 290)
    model = tiny.captioner(tokenizer.vocabulary_size)
    words = {token for row in tokenizer.encode(TEXTS).to_list() for token in row}
    model.decoder.set_weights([5.0 * weight for weight in model.decoder.get_weights()])
    kernel, bias = model.decoder.logits.get_weights()
    bias[[index for index in range(len(bias)) if index not in words | {END_ID}]] = -50.0
    model.decoder.logits.set_weights([kernel, bias])
    return captions_of(model, tokenizer, strategy or Beam(3, 0.6, n_best=2))


def familiar_caption_service(strategy=None):
    """`caption_service` with a familiarity, to which pictures of noise are half familiar."""
    service = caption_service(strategy)
    random, dim = np.random.default_rng(5), service.model.feature_shape[-1]
    features = service.model.encode(random.integers(0, 256, (31, *service.model.image_size, 3)))
    pooled = np.asarray(Familiarity.pool(features))
    familiarity = Familiarity(dim, 2)
    familiarity.adapt(pooled[:17], pooled[17:], pooled[:17] + 3)
    answer_familiarity(service, familiarity)
    return service


def captions_of(model, tokenizer, strategy, max_length=LENGTH, no_repeat_ngram=0, **options):
    """The service of a captioner; options are of its `PictureFormat`."""
    return GenerationService(
        model,
        PictureReader(PictureFormat(*model.image_size, **options)),
        TextWriter(tokenizer, no_repeat_ngram),
        strategy,
        AnswerLength(max_length),
        {"tokenizer": tokenizer},
        CAPTION_VIEWS,
        target="caption",
    )
