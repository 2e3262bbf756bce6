"""A tiny untrained text service whose answers are words, for tests of serving."""

import keras

from keras_attn.decoding import Beam
from keras_attn.models.transformer.transformer import Transformer
from keras_attn.models.transformer.transformer_config import DECODER, TransformerConfig
from keras_attn.serving.text_service import TextService
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
    return TextService(model, target, strategy, LENGTH, LONGEST_SOURCE, source)
