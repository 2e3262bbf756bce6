"""Algorithmic problems: copying, recalling, sorting, and paths in graphs."""

from keras_attn_pipelines.tasks.algorithmic.generated_sequences import GeneratedSequences
from keras_attn_pipelines.tasks.algorithmic.memory_machine import MemoryMachine
from keras_attn_pipelines.tasks.algorithmic.settings import Algorithmic

__all__ = ["Algorithmic", "GeneratedSequences", "MemoryMachine"]
