"""Callbacks of the data-to-text task: metrics of greedy texts, and pictures of some."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import SOURCE
from keras_attn.serving.fact_service import FactService
from keras_attn.serving.text_service import most_pieces
from keras_attn.training.callbacks import AttentionImages, GenerationMetrics
from keras_attn.viz.fact_matrix import FactMatrix, facts_figure
from keras_attn_pipelines.experiment.answer_pictures import answer_pictures
from keras_attn_pipelines.tasks.data_to_text.evaluation import text_scores
from keras_attn_pipelines.tasks.data_to_text.features import read_sets, strings_of
from keras_attn_pipelines.tasks.data_to_text.names import TOKENIZER

PICTURED = 3


def text_scoring(task, model, data, batch: int = 64) -> GenerationMetrics:
    """The callback that scores greedy texts on dev, in batches of similar length."""
    vocabularies = data.extra.vocabularies
    tokenizer = vocabularies[TOKENIZER]
    records = sorted(data.extra.sets["dev"], key=lambda record: len(record.source))
    contexts, names = [], []
    for start in range(0, len(records), batch):
        sets = [record.facts for record in records[start : start + batch]]
        sets += [sets[-1]] * (batch - len(sets))
        read = read_sets(task, sets, vocabularies)
        contexts.append({SOURCE: read.tokens})
        names.append(read.names)

    def length(context):
        return tf.reduce_max(most_pieces(context[SOURCE][..., 0], task.lengths[-1]))

    def scores(texts, records):
        filled = tokenizer.fill(texts, tf.concat(names, axis=0)[: len(texts)])
        decoded = [text.decode() for text in filled.numpy()]
        found = text_scores(decoded, records, task.scoring.metric_tokenization)
        return {name: found[name] for name in task.spec.monitors}

    return GenerationMetrics(model, contexts, tokenizer, records, length, scores)


def fact_pictures(records, service: FactService, folder) -> AttentionImages:
    """The callback that draws which facts the words of a few texts came from."""
    shown = sorted(records, key=lambda record: len(record.facts))[-PICTURED:]
    count = max(len(record.facts) for record in shown)
    strings = [np.asarray(strings_of(record.facts, count)).tolist() for record in shown]

    def figure(answer, row):
        return facts_figure(FactMatrix.of(answer, shown[row].facts))

    return answer_pictures(service.explain, [strings], figure, folder)
