"""Sentences as named features."""

from collections import Counter
from collections.abc import Sequence

import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SymbolTable
from keras_attn_pipelines.data.pair_training import PairFormat, pair_training_data
from keras_attn_pipelines.data.sequence_examples import ends, in_parts, real, teacher_forced
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.tasks.language_modeling.names import WORDS


def learn_words(records, most: int, least: int, known: Sequence[str] = ()) -> SymbolTable:
    """The known words, then the most frequent others.

    Args:
        records: `Sentence`s.
        most: maximum number of other words.
        least: how often such a word must occur.
        known: words that keep their places.

    Raises:
        ValueError: no word at all.
    """
    lines = plain_words(tf.constant([record.source for record in records])).numpy()
    counts = Counter(word for line in lines for word in line.decode().split())
    for word in known:
        counts.pop(word, None)
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    words = [*known, *(word for word in frequent if counts[word] >= least)]
    if not words:
        raise ValueError(
            f"Expected words that occur at least {least} times. Received: none in "
            f"{len(lines)} sentences"
        )
    return SymbolTable(words)


def encode(task, records, vocabularies, setting) -> TrainingData:
    """Training data of sentences: see `Task.encode`."""
    words = vocabularies[WORDS]

    def tables(sentences):
        texts = [sentence.source for sentence in sentences]
        tokens = in_parts(lambda part: words.encode(plain_words(part)), texts)
        table = RaggedTable.of_ragged(tf.concat([tokens, ends(len(texts))], axis=1))
        return {SOURCE: table, TARGET: table}

    form = PairFormat(
        encode=tables,
        lengths={SOURCE: task.lengths, TARGET: task.lengths},
        units=("words", ""),
        arrange=_arrange,
        batch_size=setting.fit.batch_size,
        batch_tokens=setting.fit.batch_tokens,
        replicas=setting.replicas,
        seed=setting.fit.seed,
        record="sentence",
    )
    return pair_training_data(records, form, [])


def _arrange(features, step):
    targets = features[TARGET]
    return teacher_forced(features[SOURCE]), targets, real(targets)
