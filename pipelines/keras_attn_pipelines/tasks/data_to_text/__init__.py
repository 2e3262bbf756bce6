"""Text generation from sets of facts: triples, or rows of tables."""

from keras_attn_pipelines.tasks.data_to_text.graph_transformer import GraphTransformer
from keras_attn_pipelines.tasks.data_to_text.sets_of_facts import SetsOfFacts
from keras_attn_pipelines.tasks.data_to_text.settings import DataToText

__all__ = ["DataToText", "GraphTransformer", "SetsOfFacts"]
