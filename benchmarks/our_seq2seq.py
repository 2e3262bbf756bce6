"""keras-attn, and Keras' own LSTM, in `seq2seq_speed`."""

import keras
import numpy as np

from benchmarks.our_translator import decoders, decoding, trainer
from benchmarks.tensorflow_threads import set_threads
from benchmarks.translation_task import SPECIAL, TRAIN, Task
from benchmarks.worker import serve
from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn.layers import AdditiveAttention, ScaledEmbedding
from keras_attn.models import (
    ConvSeq2Seq,
    RecurrentConfig,
    RecurrentSeq2Seq,
    Transformer,
    TransformerConfig,
)

DROPOUT = 0.1


class PlainSeq2Seq(keras.Model):
    """Layers of Keras, without attention or with one after the loop; for training alone."""

    def __init__(self, vocabulary, units, attention):
        super().__init__()
        self.embedding = ScaledEmbedding(vocabulary, units)
        self.dropout = keras.layers.Dropout(DROPOUT)
        lstm = keras.layers.LSTM(units, return_sequences=True, return_state=True)
        self.encoder = keras.layers.Bidirectional(lstm)
        self.first = [keras.layers.Dense(units, "tanh") for _ in range(2)]
        self.decoder = keras.layers.LSTM(units, return_sequences=True)
        self.attention = AdditiveAttention(units) if attention else None
        self.combine = keras.layers.Dense(units, "tanh", use_bias=False)

    def call(self, batch, training=None):
        source, tokens = (
            self.dropout(self.embedding(batch[key]), training=training) for key in (SOURCE, TOKENS)
        )
        value, forward, _, backward, _ = self.encoder(source)
        last = keras.ops.concatenate([forward, backward], axis=-1)
        hidden = self.decoder(tokens, initial_state=[layer(last) for layer in self.first])
        if self.attention is not None:
            context = self.attention(hidden, value)
            hidden = self.combine(keras.ops.concatenate([context, hidden], axis=-1))
        hidden = self.dropout(hidden, training=training)
        return {LOGITS: self.embedding.logits(hidden, self.embedding.output_kernel())}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return super().compute_loss(x, y, y_pred[LOGITS], sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, y_pred[LOGITS], sample_weight)


def model_of(task, kind):
    """A model whose special tokens are unlikely, so that no decoding ends early."""
    vocabulary, units, layers = task.vocabulary, task.units, task.layers
    keras.utils.set_random_seed(0)
    if kind in ("plain", "outside"):
        return PlainSeq2Seq(vocabulary, units, kind == "outside")
    if kind == "recurrent":
        config = RecurrentConfig(
            vocabulary, embedding_dim=units, hidden_dim=units, dropout=DROPOUT, tied="all"
        )
        model = RecurrentSeq2Seq(config)
    elif kind == "convolutional":
        blocks = [(units, 3)] * layers
        model = ConvSeq2Seq(
            vocabulary_size=vocabulary,
            encoder_layers=blocks,
            decoder_layers=blocks,
            embedding_dim=units,
            output_dim=units,
            dropout=DROPOUT,
        )
    else:
        heads = {"num_heads": task.heads, "key_dim": units // task.heads}
        sizes = {"num_layers": layers, "hidden_dim": units, "intermediate_dim": task.hidden}
        model = Transformer(TransformerConfig(vocabulary, **sizes, **heads))
    model.build()
    for weight in model.weights:
        if weight.shape[0] == vocabulary:
            values = np.array(weight)
            values[:SPECIAL] = 0 if values.ndim > 1 else -100
            weight.assign(values)
    return model


def works_of(task, kind, training=False):
    """The works of a kind of model."""
    model = model_of(task, kind)
    if training:
        return {TRAIN: trainer(model, task)}
    return decoding(decoders(model, task), task)


if __name__ == "__main__":
    serve(works_of, Task, set_threads)
