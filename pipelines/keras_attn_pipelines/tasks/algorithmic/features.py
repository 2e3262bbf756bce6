"""Algorithmic problems as vectors."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_attn.text.sequence_words import AnswerWords, SourceWords
from keras_attn_pipelines.data.ahead import ahead
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.tasks.algorithmic.names import ANSWER_WORDS, SOURCE_WORDS


def learn_words(drawn, planning_steps) -> dict[str, SourceWords | AnswerWords]:
    """Reader and writer of the texts of a problem: `Drawn`."""
    problem = drawn.problem
    longest, longest_answer = problem.most(drawn.lengths[-1])
    sizes = longest, longest_answer, planning_steps
    return {
        SOURCE_WORDS: SourceWords(problem.name, problem.bits, *sizes),
        ANSWER_WORDS: AnswerWords(problem.bits),
    }


def encode(task, records, vocabularies, setting) -> TrainingData:
    """Training data of drawn sequences: see `Task.encode`."""
    drawn, held_out = records.splits["train"], records.splits["dev"]
    rows = max(1, setting.fit.batch_size // setting.replicas) * setting.replicas
    steps = -(-drawn.count // rows)
    buckets = len(drawn.lengths)

    def known(step):
        epoch = step // steps
        return min(buckets, 1 + epoch * buckets // task.curriculum if task.curriculum else buckets)

    def training_batch(step):
        bucket, pairs = drawn.batch(int(step), rows, known(int(step)))
        return _texts(pairs, rows, steps_of(drawn.lengths[bucket]))

    def steps_of(longest):
        return sum(drawn.problem.most(longest)) + 1 + task.planning_steps

    batches = _held_out_batches(held_out, drawn.lengths, rows, steps_of)

    def dataset(numbers, batch):
        kinds = (tf.string, tf.string, tf.int64)

        def read(step):
            return tf.numpy_function(batch, [step], kinds, stateful=False)

        def arrange(sources, targets, length):
            sources.set_shape((rows,))
            targets.set_shape((rows,))
            return example_batch(vocabularies, sources, targets, length)

        return ahead(numbers.map(read).map(arrange))

    def training(start):
        return dataset(tf.data.Dataset.range(start, tf.int64.max), training_batch)

    dev = dataset(tf.data.Dataset.range(len(batches)), lambda place: batches[place])
    dev = dev.apply(tf.data.experimental.assert_cardinality(len(batches)))
    lines = [f"lengths {drawn.shortest} to {drawn.lengths[-1]}, each equally often"]
    if task.curriculum:
        lines.append(f"curriculum: lengths up to {drawn.lengths[0]} first, all of them later")
    return TrainingData(records.splits, training, dev, steps, lines=lines, extra=dict(vocabularies))


def example_batch(vocabularies, sources, targets, length):
    """Texts as a batch for `fit`: a source, its end, zeros for planning and the answer's words.

    Args:
        vocabularies: dict of `SourceWords` and `AnswerWords`.
        sources: string (B,); an empty one gets the weight 0.
        targets: string (B,).
        length: int scalar. T.

    Returns:
        inputs: float32 (B, T, E).
        targets: float32 (B, T, O).
        weights: float32 (B, T), 1 for words of the answer.
    """
    source_words, answer_words = vocabularies[SOURCE_WORDS], vocabularies[ANSWER_WORDS]
    vectors, answers = source_words.encode(sources).vectors, answer_words.encode(targets)
    width = answer_words.vocabulary_size
    counts = vectors.row_lengths()
    before = tf.RaggedTensor.from_row_lengths(tf.zeros((tf.reduce_sum(counts), width)), counts)
    rows = sources.shape[0]
    inputs = vectors.to_tensor(shape=(rows, length, source_words.vocabulary_size))
    outputs = tf.concat([before, answers], axis=1).to_tensor(shape=(rows, length, width))
    places = tf.range(length)[None]
    ends = counts + answers.row_lengths()
    weights = (places >= counts[:, None]) & (places < ends[:, None])
    return inputs, outputs, tf.cast(weights, tf.float32)


def _texts(pairs: Sequence, rows: int, length: int):
    """Sources and targets, padded with '' to some rows, and the length of the batch."""
    padding = [""] * (rows - len(pairs))
    columns = [
        np.array([*(getattr(pair, name).encode() for pair in pairs), *padding], object)
        for name in ("source", "target")
    ]
    return *columns, np.int64(length)


def _held_out_batches(pairs, lengths, rows, steps_of):
    """Batches of sequences of the same bucket, as `_texts`."""
    buckets = np.searchsorted(lengths, [pair.length for pair in pairs])
    batches = []
    for bucket, longest in enumerate(lengths):
        chosen = [pairs[place] for place in np.flatnonzero(buckets == bucket)]
        batches += [
            _texts(chosen[start : start + rows], rows, steps_of(longest))
            for start in range(0, len(chosen), rows)
        ]
    return batches
