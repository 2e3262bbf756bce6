"""Tiny untrained services that answer with labels, for tests of serving."""

import keras

from keras_attn.images.picture_format import PictureFormat
from keras_attn.layers import (
    AdditiveAttention,
    Affine,
    AttentionPooling,
    MemoryNetwork,
    Projective,
    SpatialTransformer,
)
from keras_attn.models import (
    ImageClassifier,
    QuestionAnswerer,
    RecurrentEncoder,
    SpatialTransformerClassifier,
    TextClassifier,
    VisionTransformer,
    VisionTransformerConfig,
)
from keras_attn.serving.classifier_service import ClassifierService
from keras_attn.serving.question_service import QuestionService
from keras_attn.serving.spatial_transformer_service import SpatialTransformerService
from keras_attn.serving.text_label_service import TextLabelService
from keras_attn.text.label_table import LabelTable
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.text.tokenizer import Tokenizer

NAMES = ["cat", "small dog", "Ünïcode ☂", "emu", "yak"]
VISION = VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2)
FORMAT = PictureFormat(15, 21)
CROPPED_FORMAT = PictureFormat(17, 19)
WORDS = SymbolTable(["garden", "is", "john", "mary", "milk,apple", "to", "went", "where", "ünï"])


def classifier(encoder=None):
    """A classifier of pictures with random weights."""
    keras.utils.set_random_seed(5)
    model = ImageClassifier(encoder or VisionTransformer(VISION), 5, "glorot_uniform")
    model.build((None, 15, 21, 3))
    return model


def classifier_service():
    """A service that answers with three of five labels for a picture."""
    return ClassifierService(classifier(), LabelTable(NAMES), FORMAT, 3)


def _transformer(transform, size):
    look = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5, "relu")])
    options = {"bound": 0.3, "kernel_initializer": "he_normal", "return_grid": True}
    return SpatialTransformer(look, transform, size, **options)


def spatial_transformer_service(transformers=2, grayscale=False, parallel=1):
    """A service that answers with two of three labels for a picture, and with its crop."""
    keras.utils.set_random_seed(5)
    layers = [_transformer(Affine(), (11, 13)), _transformer(Projective(), (5, 7))][:transformers]
    layers = [_transformer(Affine(), (11, 13)) for _ in range(parallel - 1)] + layers
    encoder = keras.layers.Conv2D(2, 3)
    model = SpatialTransformerClassifier(layers, encoder, 3, 0.0, grayscale, parallel)
    model.build((None, 17, 19, 3))
    return SpatialTransformerService(model, LabelTable(NAMES[:3]), CROPPED_FORMAT, 2)


def text_label_service():
    """A service that answers with two of three labels for a text."""
    keras.utils.set_random_seed(3)
    tokenizer = Tokenizer.learn(("one two three", "five seven", "two two two five"), 285)
    encoder = RecurrentEncoder(vocabulary_size=285, hidden_dim=5)
    pooling = AttentionPooling(AdditiveAttention(5))
    model = TextClassifier(tokenizer.vocabulary_size, 3, encoder, pooling, 7)
    model.build()
    return TextLabelService(model, tokenizer, LabelTable(NAMES[:3]), 11, 2)


def question_service():
    """A service that answers with two of nine words for a question about a story."""
    keras.utils.set_random_seed(3)
    model = QuestionAnswerer(MemoryNetwork(WORDS.vocabulary_size, 5, 2, memory_size=3))
    model.build()
    return QuestionService(model, WORDS, 2)
