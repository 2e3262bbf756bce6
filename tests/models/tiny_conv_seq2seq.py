"""A small convolutional model with weights at random, and a batch for it."""

import numpy as np

from keras_attn.contracts import SOURCE, TOKENS
from keras_attn.models.conv_seq2seq.conv_seq2seq import ConvSeq2Seq
from keras_attn.models.conv_seq2seq.conv_seq2seq_config import ConvSeq2SeqConfig

SIZES = {
    "vocabulary_size": 13,
    "target_vocabulary_size": 17,
    "encoder_layers": [(7, 3), (7, 5), (11, 1)],
    "decoder_layers": [(7, 2), (3, 4), (3, 1)],
    "embedding_dim": 5,
    "output_dim": 3,
    "dropout": 0.0,
    "max_sequence_length": 19,
}
TIED = {
    "target_vocabulary_size": 13,
    "encoder_layers": [(7, 5), (3, 3)],
    "decoder_layers": [(3, 3), (3, 3)],
    "output_dim": 5,
    "positions": "sinusoidal",
    "tied": "all",
}
LENGTH = 5


def conv_seq2seq(weights_layer=None, **changes):
    """A built model."""
    model = ConvSeq2Seq(ConvSeq2SeqConfig(**{**SIZES, **changes}), weights_layer)
    model.build()
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(0, 0.7, weight.shape))
    return model


def batch():
    """Sources of 7, 4 and 1 tokens, targets of 5."""
    random = np.random.default_rng(1)
    source = random.integers(1, 13, (3, 7)).astype("int32")
    source[1, 4:] = source[2, 1:] = 0
    return {SOURCE: source, TOKENS: random.integers(1, 13, (3, LENGTH)).astype("int32")}


def named(model):
    """Weights by their paths inside the model ("encoder/enter/kernel")."""
    return {
        weight.path.removeprefix(f"{model.name}/"): weight for weight in model.trainable_weights
    }


def of_torch(path, array):
    """An array of torch's in the shape of our weight of that path."""
    if path.endswith("/gain"):
        return array.reshape(-1)
    return array.transpose() if path.endswith("/kernel") else array
