"""Prediction of the next word, scored by perplexity."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Objective, Request, TaskSpec
from keras_attn_pipelines.tasks.language_modeling.names import LOGITS, SOURCE, WORDS


@part
class NextWord:
    """Next-word prediction over lower-case words without punctuation."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="sentences", targets=(LOGITS,), batches_of_tokens=True
    )

    vocabulary_size: int = option(
        "maximum number of words that the sentences add to the vocabulary", default=5000, least=1
    )
    min_count: int = option("how often such a word must occur", default=2, least=1)
    lengths: tuple[int, ...] = option(
        "bucket lengths of sentences, in words", default=(8, 12, 16, 24, 40, 64), buckets=True
    )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.symbol_table import SymbolTable

        return {WORDS: SymbolTable}

    def learn(self, records):
        """See `Task`."""
        return self.extend({}, records)

    def extend(self, vocabularies, records):
        """See `Task`: known words keep their ids, and words of the records are added."""
        from keras_attn_pipelines.tasks.language_modeling.features import learn_words

        known = vocabularies[WORDS].names if vocabularies else ()
        return {WORDS: learn_words(records, self.vocabulary_size, self.min_count, known)}

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.language_modeling.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`."""
        from keras_attn.training.losses import TokenCrossEntropy
        from keras_attn.training.token_accuracy import TokenAccuracy

        return Objective(model, TokenCrossEntropy(), [TokenAccuracy()])

    def callbacks(self, model, data, setting, folder):
        """See `Task`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn_pipelines.tasks.language_modeling.service import next_word_service

        if beam_width is not None:
            raise ValueError(
                "Expected no beam width for the prediction of one word, which needs no search. "
                f"Received: beam_width={beam_width}"
            )
        return next_word_service(model, vocabularies[WORDS], self.lengths[-1], n_best)

    def request(self, record):
        """See `Task`."""
        source = record.source
        return Request(f"{source!r:.80}", {SOURCE: source.encode()}, len(source.split()))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.language_modeling.evaluation import evaluate_perplexity

        return evaluate_perplexity(records, answers)

    def card(self, service, description):
        """See `Task`."""
        return {
            "What it does": f"Predicts the next word of a sentence: {description}, "
            f"{service.model.count_params():,} parameters.",
            "Service": "Signature `serving_default`: source (UTF-8, the beginning of a sentence) "
            "to labels (the next words), scores (their probabilities), token_scores (log-"
            "probability of each word of source and of its end, in nats), source_pieces, error. "
            "`explain`: also weights, how much of each slot of the memory each word's prediction "
            f"read. A sentence has at most {self.lengths[-1]} words, its end included.",
            "License": "Code: Apache-2.0. The weights are subject to the terms of their training "
            "data.",
        }
