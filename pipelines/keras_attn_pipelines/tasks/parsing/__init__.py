"""Constituency parsing."""

from keras_attn_pipelines.tasks.parsing.parser import Parser
from keras_attn_pipelines.tasks.parsing.settings import Parsing
from keras_attn_pipelines.tasks.parsing.treebank import Treebank

__all__ = ["Parser", "Parsing", "Treebank"]
