"""Prediction of the next word."""

from keras_attn_pipelines.tasks.language_modeling.progressive_memory import ProgressiveMemory
from keras_attn_pipelines.tasks.language_modeling.sentences import Sentences
from keras_attn_pipelines.tasks.language_modeling.settings import NextWord

__all__ = ["NextWord", "ProgressiveMemory", "Sentences"]
