"""Algorithmic problems: copying, recalling, sorting, and paths in graphs."""

from keras_attn_pipelines.tasks.algorithmic.algorithmic import Algorithmic
from keras_attn_pipelines.tasks.algorithmic.generated_sequences import GeneratedSequences
from keras_attn_pipelines.tasks.algorithmic.memory_machine import MemoryMachine

__all__ = ["Algorithmic", "GeneratedSequences", "MemoryMachine"]
