"""Prediction of the next word, scored by perplexity."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_attn.contracts import SOURCE, SOURCE_PIECES, TARGET, TOKEN_SCORES
from keras_attn.text.plain_words import plain_words
from keras_attn.text.symbol_table import SymbolTable
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.teacher_forcing import target_weights, teacher_forcing
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn_pipelines.data.sequence_examples import ended, in_parts
from keras_attn_pipelines.data.sequence_training import SequenceFormat, sequence_training_data
from keras_attn_pipelines.data.vocabulary import WORDS
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request
from keras_attn_pipelines.tasks.language_modeling.service import UNKNOWN_PIECE, next_word_service

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.language_modeling.settings import NextWord


@dataclass(frozen=True)
class NextWordWork:
    """See `Work`."""

    task: "NextWord"

    def vocabulary_types(self):
        """See `Work`."""
        return {WORDS: SymbolTable}

    def learn(self, records):
        """See `Work`."""
        return self.extend({}, records)

    def extend(self, vocabularies, records):
        """See `Work`: known words keep their ids, and words of the records are added."""
        known = vocabularies[WORDS].names if vocabularies else ()
        return {WORDS: learn_words(records, self.task.vocabulary_size, self.task.min_count, known)}

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        words, lengths = vocabularies[WORDS], self.task.lengths

        def tables(sentences):
            texts = [sentence.source for sentence in sentences]
            table = ended(in_parts(lambda part: words.encode(plain_words(part)), texts))
            return {SOURCE: table, TARGET: table}

        form = SequenceFormat(
            encode=tables,
            lengths={SOURCE: lengths, TARGET: lengths},
            units=("words", ""),
            arrange=_arrange,
            setting=setting,
            record="sentence",
        )
        return sequence_training_data(records, form, vocabularies)

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        return Objective(model, TokenCrossEntropy(), [TokenAccuracy()])

    def callbacks(self, model, data, setting, folder):
        """See `Work`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        return next_word_service(model, vocabularies[WORDS], self.task.lengths[-1], n_best)

    def request(self, record):
        """See `Work`."""
        return Request.of_text(record.source)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`: the perplexity counts each word and each end of a sentence.

        All unknown words count as the same word.
        """
        pieces = [piece for answer in answers for piece in answer[SOURCE_PIECES] if piece]
        if not pieces:
            raise ValueError("Expected a sentence that can be read. Received: none")
        total = sum(float(answer[TOKEN_SCORES].sum()) for answer in answers)
        loss, unknown = -total / len(pieces), pieces.count(UNKNOWN_PIECE.encode())
        return Evaluation(
            scores={"perplexity": math.exp(loss), "loss": loss, "unknown": unknown / len(pieces)},
            cells={
                "perplexity": f"{math.exp(loss):.1f}",
                "nats a word": f"{loss:.3f}",
                "unknown words": f"{100 * unknown / len(pieces):.1f}%",
            },
            count=len(records),
            unit="sentences",
            note=f", {len(pieces)} words and ends",
        )

    def card(self, service, description):
        """See `Work`."""
        return {
            "What it does": f"Predicts the next word of a sentence: {description}.",
            "Service": "Signature `serving_default`: source (UTF-8, the beginning of a sentence) "
            "to labels (the next words), scores (their probabilities), token_scores (log-"
            "probability of each word of source and of its end, in nats), source_pieces, error. "
            "`explain`: also weights, how much of each slot of the memory each word's prediction "
            f"read. A sentence has at most {self.task.lengths[-1]} words, its end included.",
        }


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


def _arrange(features, step):
    targets = features[TARGET]
    return teacher_forcing(features[SOURCE]).tokens, targets, target_weights(targets)
