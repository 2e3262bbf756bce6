"""What models that answer questions about stories have in common."""

import keras
from keras import ops

from keras_attn.contracts import PAD_ID, QUESTION, STORY
from keras_attn.models.base_model import BaseModel
from keras_attn.ops.memory_network import dropped_sentences


class StoryModel(BaseModel):
    """Abstract: logits of one answer, a word of the vocabulary, to a story and a question.

    Subclasses have `vocabulary_size`, V, and `memory_size`, the most sentences that are read.
    """

    @property
    def num_classes(self):
        """V."""
        return self.vocabulary_size

    def dropped(self, story):
        """int32 (B,): sentences of each story that are not read, being too many.

        Args:
            story: int32 (B, M, W), as in the call.
        """
        return dropped_sentences(has_words(story), self.memory_size)

    def input_signature(self):
        return {
            STORY: keras.InputSpec(dtype="int32", shape=(None, None, None)),
            QUESTION: keras.InputSpec(dtype="int32", shape=(None, None)),
        }


def has_words(tokens):
    """bool: what has a word, on the axes before the last."""
    return ops.any(ops.not_equal(tokens, PAD_ID), axis=-1)
