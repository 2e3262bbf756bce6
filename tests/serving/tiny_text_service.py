"""A tiny untrained text service whose answers are words, for tests of serving."""

import keras

from keras_attn.decoding import Beam
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import DECODER, TransformerConfig
from keras_attn.serving import AnswerLength, GenerationService
from keras_attn.serving.readers import TextReader
from keras_attn.serving.views import TEXT_VIEWS
from keras_attn.serving.writers import TextWriter
from keras_attn.text.tokenizer import Tokenizer

LENGTH, LONGEST_SOURCE = 13, 11
SOURCES = ("one two three", "five seven", "two two two five")
TARGETS = ("eins zwei drei", "fünf sieben", "zwei fünf")


def text_service(strategy=None):
    """A service with two tokenizers and random weights."""
    keras.utils.set_random_seed(3)
    source, target = Tokenizer.learn(SOURCES, 285), Tokenizer.learn(TARGETS, 280)
    sizes = (source.vocabulary_size, target.vocabulary_size)
    config = TransformerConfig(*sizes, 2, 14, 11, 2, 7, 7, normalize_first=True, tied=DECODER)
    model = Transformer(config)
    model.build()
    model.set_weights([2.0 * weight for weight in model.get_weights()])
    strategy = strategy or Beam(3, 0.6, n_best=2)
    return texts_of(model, target, strategy, LENGTH, LONGEST_SOURCE, source)


def texts_of(model, target, strategy, max_length, max_source, source=None):
    """The service of a model from text to text."""
    source = source or target
    return GenerationService(
        model,
        TextReader(source, max_source),
        TextWriter(target),
        strategy,
        AnswerLength.of_texts(max_length),
        {"tokenizer": target, **({} if source is target else {"source_tokenizer": source})},
        TEXT_VIEWS,
    )
