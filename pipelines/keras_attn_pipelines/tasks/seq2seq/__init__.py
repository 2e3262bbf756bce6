"""Sequence-to-sequence text generation."""

from keras_attn_pipelines.tasks.seq2seq.convolutional import Convolutional
from keras_attn_pipelines.tasks.seq2seq.recurrent import Recurrent
from keras_attn_pipelines.tasks.seq2seq.seq2seq import Seq2Seq
from keras_attn_pipelines.tasks.seq2seq.text_pairs import TextPairs
from keras_attn_pipelines.tasks.seq2seq.transformer import Transformer

__all__ = ["Convolutional", "Recurrent", "Seq2Seq", "TextPairs", "Transformer"]
