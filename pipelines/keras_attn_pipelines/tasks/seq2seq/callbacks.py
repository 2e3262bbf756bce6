"""Callbacks of the sequence-to-sequence task: metrics of greedy answers."""

from functools import partial

import tensorflow as tf

from keras_attn.contracts import SOURCE
from keras_attn.evaluation.text_metrics import text_metrics
from keras_attn.serving import AnswerLength
from keras_attn.serving.readers.texts import read_sources
from keras_attn.training.callbacks import GenerationMetrics
from keras_attn_pipelines.tasks.seq2seq.names import SOURCE_TOKENIZER, TARGET_TOKENIZER


def text_scoring(task, model, data, batch: int = 64) -> GenerationMetrics:
    """The callback that scores greedy answers on dev, in batches of similar length.

    A source that is too long for the model is replaced by an empty one.
    """
    pairs = sorted(data.splits["dev"], key=lambda pair: len(pair.source))
    tokenizer = data.extra.vocabularies[TARGET_TOKENIZER]
    source_tokenizer = data.extra.vocabularies.get(SOURCE_TOKENIZER, tokenizer)
    contexts = [
        _context(pairs[start : start + batch], source_tokenizer, task.longest_source, batch)
        for start in range(0, len(pairs), batch)
    ]
    references = [pair.target for pair in pairs]

    def length(context):
        counts = tf.math.count_nonzero(context[SOURCE], axis=1, dtype=tf.int32)
        return tf.reduce_max(AnswerLength.of_texts(task.lengths[-1]).of(counts))

    metrics = partial(text_metrics, tokenization=task.scoring.metric_tokenization)
    return GenerationMetrics(model, contexts, tokenizer, references, length, metrics)


def _context(pairs, tokenizer, longest, batch):
    """Source tokens int32 (batch, S) of a few pairs, padded with rows of END_ID."""
    texts = [pair.source for pair in pairs] + [""] * (batch - len(pairs))
    return {SOURCE: read_sources(tf.constant(texts), tokenizer, longest)[0]}
