"""Labeled texts as named features."""

from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET
from keras_attn_pipelines.data.dropped_merges import dropped_merges
from keras_attn_pipelines.data.pair_training import PairFormat, pair_training_data
from keras_attn_pipelines.data.sequence_examples import ends, in_parts
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.vocabulary import smaller_than_asked
from keras_attn_pipelines.tasks.classification.labels import (
    in_words,
    known_labels,
    unknown_reason,
)
from keras_attn_pipelines.tasks.classification.names import LABELS, TOKENIZER


def text_format(task, vocabularies, setting) -> PairFormat:
    """How labeled texts become batches.

    Inputs: int32 (B, S), END_ID last. Targets: int32 (B,). Weights: float32 (B,), 0 for padding.
    """
    tokenizer, labels = vocabularies[TOKENIZER], vocabularies[LABELS]

    def tables(pairs):
        texts = in_parts(tokenizer.encode, [pair.source for pair in pairs])
        # One more than the label, since a row of padding has 0.
        classes = RaggedTable.of([[labels.id_of(pair.target) + 1] for pair in pairs])
        sources = tf.concat([texts, ends(len(pairs))], axis=1)
        return {SOURCE: RaggedTable.of_ragged(sources), TARGET: classes}

    return PairFormat(
        encode=tables,
        lengths={SOURCE: task.lengths, TARGET: (1,) * len(task.lengths)},
        units=("pieces", ""),
        arrange=_arrange,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
        record="text",
        **dropped_merges(task.bpe_dropout, {SOURCE: (tokenizer, attrgetter("source"))}),
    )


def encode(task, records, vocabularies, setting) -> TrainingData:
    """Training data of labeled texts: see `Task.encode`."""
    labels = vocabularies[LABELS]
    splits, unknown = known_labels(records.splits, labels, lambda pair: pair.target, "text")
    skipped = [
        Skipped(records.files.get("dev", Path("-")), pair.line, unknown_reason(pair.target))
        for pair in unknown
    ]
    lines = smaller_than_asked({TOKENIZER: vocabularies[TOKENIZER]}, task.vocabulary_size)
    lines.append(f"labels: {in_words(labels.names)}")
    form = text_format(task, vocabularies, setting)
    data = pair_training_data(replace(records, splits=splits), form, lines)
    return replace(data, skipped=[*skipped, *data.skipped], extra=dict(vocabularies))


def _arrange(features, step):
    classes = features[TARGET][:, 0]
    weights = tf.cast(classes > 0, tf.float32)
    return features[SOURCE], tf.maximum(classes - 1, 0), weights
