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
from keras_attn.serving import LabelService, classifier_functions, views
from keras_attn.serving.readers import PictureReader, QuestionReader, TextReader
from keras_attn.serving.writers import LabelWriter
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


def classifier_service(model=None, n_best=3):
    """A service that answers with labels, three of five, for a picture."""
    model, labels = model or classifier(), LabelTable(NAMES)
    ways = classifier_functions.picture_functions(model)
    shown = views.PATCH_VIEWS if "explain" in ways else ()
    writer = LabelWriter(labels, n_best)
    return LabelService(model, PictureReader(FORMAT), writer, ways, {"labels": labels}, shown)


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
    ways, labels = classifier_functions.crop_functions(model), LabelTable(NAMES[:3])
    reader, writer = PictureReader(CROPPED_FORMAT), LabelWriter(labels, 2)
    shown = views.CROP_VIEWS if transformers else ()
    return LabelService(model, reader, writer, ways, {"labels": labels}, shown)


def text_label_service():
    """A service that answers with two of three labels for a text."""
    keras.utils.set_random_seed(3)
    tokenizer = Tokenizer.learn(("one two three", "five seven", "two two two five"), 285)
    encoder = RecurrentEncoder(vocabulary_size=285, hidden_dim=5)
    pooling = AttentionPooling(AdditiveAttention(5))
    model = TextClassifier(tokenizer.vocabulary_size, 3, encoder, pooling, 7)
    model.build()
    labels = LabelTable(NAMES[:3])
    reader, writer = TextReader(tokenizer, 11), LabelWriter(labels, 2)
    vocabularies = {"tokenizer": tokenizer, "labels": labels}
    ways = classifier_functions.text_functions(model)
    return LabelService(model, reader, writer, ways, vocabularies, views.CONTRIBUTION_VIEWS)


def question_service():
    """A service that answers with two of nine words for a question about a story."""
    keras.utils.set_random_seed(3)
    model = QuestionAnswerer(MemoryNetwork(WORDS.vocabulary_size, 5, 2, memory_size=3))
    model.build()
    return story_service(model)


def story_service(model, n_best=2):
    """A service that answers with words for a question about a story."""
    reader, writer = QuestionReader(WORDS), LabelWriter(WORDS, n_best)
    notes = {"memory_size": model.memory_size, "reader": model.reader}
    ways, shown = classifier_functions.question_functions(model), views.story_views(model.reader)
    return LabelService(model, reader, writer, ways, {"words": WORDS}, shown, notes)
