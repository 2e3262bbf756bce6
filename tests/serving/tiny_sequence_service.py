"""A tiny untrained service of algorithmic problems, for tests of serving."""

import keras

from keras_attn.layers import DNCCell, MemoryRNN, NTMCell
from keras_attn.serving.sequence_service import sequence_service as service_of
from keras_attn.text.sequence_words import AnswerWords, SourceWords

SOURCE, ANSWER = SourceWords("copy", 3, longest=2, longest_answer=2), AnswerWords(3)


def cell(kind):
    """A cell with a memory: "ntm" or "dnc"."""
    if kind == "ntm":
        return NTMCell(keras.layers.Dense(7, "tanh"), 4, num_slots=11, slot_dim=5)
    controller = keras.layers.LSTMCell(7)
    return DNCCell(controller, 4, num_slots=11, slot_dim=5, num_read_heads=2)


def sequence_service(kind):
    """A service with random weights; "ntm" and "dnc" have a memory, "lstm" has none."""
    keras.utils.set_random_seed(3)
    inputs = keras.Input((None, SOURCE.vocabulary_size))
    if kind == "lstm":
        hidden = keras.layers.LSTM(5, return_sequences=True)(inputs)
        return service_of(keras.Model(inputs, keras.layers.Dense(4)(hidden)), SOURCE, ANSWER)
    return service_of(keras.Model(inputs, MemoryRNN(cell(kind))(inputs)), SOURCE, ANSWER)
