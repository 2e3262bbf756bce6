"""Sequence-to-sequence text generation."""

from keras_attn_pipelines.tasks.seq2seq.convolutional import Convolutional
from keras_attn_pipelines.tasks.seq2seq.recurrent import (
    Bahdanau,
    Global,
    LastState,
    LocalMonotonic,
    LocalPredictive,
    Luong,
    Recurrent,
)
from keras_attn_pipelines.tasks.seq2seq.settings import Seq2Seq
from keras_attn_pipelines.tasks.seq2seq.text_pairs import TextPairs
from keras_attn_pipelines.tasks.seq2seq.transformer import Transformer

__all__ = [
    "Bahdanau",
    "Convolutional",
    "Global",
    "LastState",
    "LocalMonotonic",
    "LocalPredictive",
    "Luong",
    "Recurrent",
    "Seq2Seq",
    "TextPairs",
    "Transformer",
]
