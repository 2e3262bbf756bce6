"""Algorithmic problems as vectors, scored by the errors in their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_attn.contracts import LONGER, SEQUENCE
from keras_attn.serving import sequence_service
from keras_attn.text.sequence_forms import FORMS
from keras_attn.text.sequence_words import AnswerWords, SourceWords
from keras_attn.training.bit_losses import BitCrossEntropy, BitsPerSequence, ExactSequences
from keras_attn_pipelines.data.ahead import ahead
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.vocabulary import ANSWER_WORDS, SOURCE_WORDS
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts, listed_texts
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.algorithmic.settings import Algorithmic


@dataclass(frozen=True)
class AlgorithmicWork:
    """See `Work`."""

    task: "Algorithmic"

    def vocabulary_types(self):
        """See `Work`."""
        return {SOURCE_WORDS: SourceWords, ANSWER_WORDS: AnswerWords}

    def learn(self, records):
        """See `Work`: reader and writer of the texts of a problem, of which records are drawn."""
        problem = records.problem
        longest, longest_answer = problem.most(records.lengths[-1])
        sizes = longest, longest_answer, self.task.planning_steps
        return {
            SOURCE_WORDS: SourceWords(problem.name, problem.bits, *sizes),
            ANSWER_WORDS: AnswerWords(problem.bits),
        }

    def extend(self, vocabularies, records):
        """See `Work`: the lengths are those of the new records."""
        return self.learn(records)

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        sequences, held_out = records.splits["train"], records.splits["dev"]
        rows = max(1, setting.fit.batch_size // setting.replicas) * setting.replicas
        steps = -(-sequences.count // rows)
        buckets = len(sequences.lengths)

        def known(step):
            epoch, curriculum = step // steps, self.task.curriculum
            return min(buckets, 1 + epoch * buckets // curriculum if curriculum else buckets)

        def training_batch(step):
            bucket, pairs = sequences.batch(int(step), rows, known(int(step)))
            return _texts(pairs, rows, steps_of(sequences.lengths[bucket]))

        def steps_of(longest):
            return sum(sequences.problem.most(longest)) + 1 + self.task.planning_steps

        batches = _held_out_batches(held_out, sequences.lengths, rows, steps_of)

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
        lines = [f"lengths {sequences.shortest} to {sequences.lengths[-1]}, each equally often"]
        if self.task.curriculum:
            lines.append(
                f"curriculum: lengths up to {sequences.lengths[0]} first, all of them later"
            )
        return TrainingData(records.splits, training, dev, steps, lines=lines)

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        exact = ExactSequences(self.task.spec.accuracy)
        return Objective(model, BitCrossEntropy(), [BitsPerSequence(), exact])

    def callbacks(self, model, data, setting, folder):
        """See `Work`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`: one answer."""
        return sequence_service(model, vocabularies[SOURCE_WORDS], vocabularies[ANSWER_WORDS])

    def request(self, record):
        """See `Work`."""
        size = len(record.source.split()) + len(record.target.split())
        return Request(f"{record.source!r:.80}", {SEQUENCE: record.source.encode()}, size)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`. In a missing or an extra word, every bit that is 1 counts as wrong."""
        texts = best_texts(answers)
        targets = [record.target for record in records]
        wrong = wrong_bits(vocabularies[ANSWER_WORDS], texts, targets)
        exact = np.array([text == target for text, target in zip(texts, targets)])
        lengths = np.array([record.length for record in records])
        longer = sum(int(answer[LONGER]) for answer in answers)
        note = f", {longer} of them longer than any trained on" if longer else ""
        by_length = {
            int(length): {
                "wrong_bits": float(wrong[lengths == length].mean()),
                "exact": float(exact[lengths == length].mean()),
            }
            for length in np.unique(lengths)
        }
        rows = [{"source": record.source, "target": record.target} for record in records]
        return Evaluation(
            scores={"wrong_bits": float(wrong.mean()), "exact": float(exact.mean())},
            cells={
                "wrong bits a sequence": f"{wrong.mean():.2f}",
                "exact": f"{100 * exact.mean():.1f}%",
            },
            count=len(records),
            unit="sequences",
            note=note,
            facts={
                "longer": longer,
                "lengths": {str(length): scores for length, scores in by_length.items()},
                "answers": listed_texts(answers, rows),
            },
        )

    def card(self, service, description):
        """See `Work`."""
        words = service.vocabularies[SOURCE_WORDS]
        form = FORMS[words.problem].described(words.bits)
        return {
            "What it does": f"Answers the algorithmic problem {words.problem}: {description}.",
            "Service": f"Signature `serving_default`: sequence (UTF-8; {form}) to text (the "
            "answer), score (its log-probability in nats), longer, error. `explain`: also steps "
            "and, of a model with a memory, write_weights and read_weights. Problems of more than "
            f"{words.longest} words, or with answers of more than {words.longest_answer}, are "
            "longer than any in training: they are answered, and longer is 1.",
            "License": "The training data are generated.",
        }


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


def wrong_bits(words, texts, targets):
    """int (R,): in how many bits each text differs from its target.

    Args:
        words: `AnswerWords`.
        texts: R strings.
        targets: R strings.
    """
    count = len(texts)
    vectors = words.encode([*texts, *targets]).to_tensor().numpy()
    return np.sum(vectors[:count] != vectors[count:], axis=(1, 2))
