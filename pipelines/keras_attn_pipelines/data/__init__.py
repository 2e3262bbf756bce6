"""Readers, splits, checks and batches, as plain values."""

import lazy_loader

# Parts of experiments import from here and must not import TensorFlow early.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "array_examples": ["ArrayExamples"],
        "batches": ["Batches", "Examples"],
        "feature": ["Feature"],
        "sequence_examples": ["SequenceExamples", "real", "teacher_forced"],
        "skipped": ["Skipped"],
        "tables": ["RaggedTable"],
        "training_data": ["Records", "TrainingData"],
    },
)
