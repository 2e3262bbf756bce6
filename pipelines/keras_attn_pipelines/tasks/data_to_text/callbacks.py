"""Callbacks of the data-to-text task: metrics of greedy texts."""

import tensorflow as tf

from keras_attn.contracts import SOURCE
from keras_attn.serving import AnswerLength
from keras_attn.training.callbacks import GenerationMetrics
from keras_attn_pipelines.tasks.data_to_text.evaluation import text_scores
from keras_attn_pipelines.tasks.data_to_text.features import read_sets
from keras_attn_pipelines.tasks.data_to_text.names import TOKENIZER


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
        counts = tf.math.count_nonzero(context[SOURCE][..., 0], axis=1, dtype=tf.int32)
        return tf.reduce_max(AnswerLength.of_texts(task.lengths[-1]).of(counts))

    def scores(texts, records):
        filled = tokenizer.fill(texts, tf.concat(names, axis=0)[: len(texts)])
        decoded = [text.decode() for text in filled.numpy()]
        found = text_scores(decoded, records, task.scoring.metric_tokenization)
        return {name: found[name] for name in task.spec.monitors}

    return GenerationMetrics(model, contexts, tokenizer, records, length, scores)
