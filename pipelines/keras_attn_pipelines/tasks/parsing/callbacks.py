"""Callbacks of the parsing task: scores of greedy trees."""

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import TEXT
from keras_attn.evaluation.brackets import compare_brackets
from keras_attn.serving.generation_service import GenerationService
from keras_attn.serving.in_graph import in_graph
from keras_attn.text.bracket_text import parse_tree
from keras_attn.text.trees import leaves
from keras_attn_pipelines.tasks.parsing.evaluation import with_true_tags


class TreeScores(keras.callbacks.Callback):
    """Scores greedy trees of some sentences after each epoch as `val_…` in the logs.

    Brackets are compared with the gold tags inserted, so that every sentence counts: EVALB skips
    sentences in which a wrong tag turns punctuation into a word. val_tagging scores the parser's
    own tags.

    Args:
        service: `GenerationService` of a parser that decodes greedily.
        pairs: sentences with their trees, readable by the service.
        keys: scores of `BracketReport` to add.
        batch: int. Batch size; sentences of similar length share a batch.
    """

    changes_model = False

    def __init__(self, service: GenerationService, pairs, keys, batch=64):
        super().__init__()
        self.pairs = sorted(pairs, key=lambda pair: len(pair.source))
        self.keys, self.batch = keys, batch
        signature = [tf.TensorSpec((None,), tf.string)]
        self.answer = in_graph(service.answer, signature)

    def on_epoch_end(self, epoch, logs=None):
        parsed, true = [], [pair.target for pair in self.pairs]
        for start in range(0, len(self.pairs), self.batch):
            sources = [pair.source for pair in self.pairs[start : start + self.batch]]
            answers = self.answer(tf.constant(sources))[TEXT][:, 0].numpy()
            parsed += [parse_tree(text.decode()) for text in answers]
        bare = [with_true_tags(*both) for both in zip(parsed, self.pairs)]
        scores = compare_brackets(bare, true).scores()
        both = zip(parsed, true)
        right = [
            leaf.tag == other.tag
            for own, tree in both
            for leaf, other in zip(leaves(own), leaves(tree))
        ]
        scores["tagging"] = 100 * float(np.mean(right))
        logs.update({f"val_{key}": scores[key] for key in self.keys})
