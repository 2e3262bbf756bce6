"""Pairs of texts as named features."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET, TOKENS
from keras_attn_pipelines.data.dropped_merges import dropped_merges
from keras_attn_pipelines.data.pair_training import PairFormat, PairSplit, pair_training_data
from keras_attn_pipelines.data.sequence_examples import ends, in_parts, real, teacher_forced
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import smaller_than_asked
from keras_attn_pipelines.tasks.seq2seq.names import SOURCE_TOKENIZER, TARGET_TOKENIZER


@dataclass(frozen=True)
class TextFeatures:
    """What the task needs again during training.

    Attributes:
        splits: dict of the `PairSplit`s of "train" and "dev".
        vocabularies: dict of `Tokenizer`s.
    """

    splits: dict[str, PairSplit]
    vocabularies: dict[str, Any]


def pair_format(task, vocabularies, setting) -> PairFormat:
    """How pairs of texts become batches."""
    target = vocabularies[TARGET_TOKENIZER]
    source = vocabularies.get(SOURCE_TOKENIZER, target)

    sides = {SOURCE: (source, attrgetter("source")), TARGET: (target, attrgetter("target"))}

    def tables(pairs):
        last = ends(len(pairs))
        sources = in_parts(source.encode, [pair.source for pair in pairs])
        targets = in_parts(target.encode, [pair.target for pair in pairs])
        return {
            SOURCE: RaggedTable.of_ragged(tf.concat([sources, last], axis=1)),
            TARGET: RaggedTable.of_ragged(tf.concat([targets, last], axis=1)),
        }

    return PairFormat(
        encode=tables,
        lengths={SOURCE: task.source_lengths or task.lengths, TARGET: task.lengths},
        units=("pieces", "pieces"),
        arrange=_arrange,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
        **dropped_merges(task.bpe_dropout, sides),
    )


def encode(task, records, vocabularies, setting):
    """Training data of pairs of texts: see `Task.encode`."""
    lines = smaller_than_asked(vocabularies, task.vocabulary_size)
    data = pair_training_data(records, pair_format(task, vocabularies, setting), lines)
    return replace(data, extra=TextFeatures(data.extra, dict(vocabularies)))


def _arrange(features, step):
    targets = features[TARGET]
    inputs = {SOURCE: features[SOURCE], TOKENS: teacher_forced(targets)}
    return inputs, targets, real(targets)
