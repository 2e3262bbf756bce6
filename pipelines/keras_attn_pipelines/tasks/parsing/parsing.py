"""The parsing task, scored by EVALB's rules."""

from datetime import date
from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch, search_text
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.tasks.parsing.names import (
    LOGITS,
    SOURCE,
    SYMBOLS,
    TAG_LOGITS,
    TAGS,
    TOKENS,
    WORDS,
)

MOST_PIECES = 2**24
DEEPEST = 200
"""Largest depth of a tree that is read."""


@part
class Parsing:
    """Constituency parsing."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="trees",
        targets=(LOGITS, TAG_LOGITS),
        monitors=("f1", "precision", "recall", "exact", "tagging"),
        best_possible=dict.fromkeys(("f1", "precision", "recall", "exact", "tagging"), 100),
        batches_of_tokens=True,
    )

    vocabulary_size: int = option(
        "maximum vocabulary size of the words' tokenizer",
        default=8000,
        settled=True,
        most=MOST_PIECES,
    )
    lowercase: bool = option("lowercase words", default=False, settled=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths in symbols",
        default=(16, 32, 48, 64, 80, 96, 112, 128, 160, 224, 448, 1024),
        buckets=True,
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths in words, including the end token",
        default=(9, 16, 23, 30, 36, 43, 50, 57, 71, 100, 200, 448),
        buckets=True,
    )
    word_pieces: int = option(
        "number of leading pieces read per word", default=8, settled=True, least=1
    )
    max_unary_chain: int = option(
        "maximum length of a chain of unary constituents", default=3, least=1
    )
    max_depth: int = option("maximum nesting depth", default=32, least=1, most=DEEPEST)
    scored: int = option("dev trees scored after each epoch", default=500, least=1)
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.0)

    def check(self):
        """Raises ValueError unless the buckets match and leave room for trees."""
        if len(self.source_lengths) != len(self.lengths):
            raise ValueError(
                f"Expected one source_length for each of lengths={self.lengths}. "
                f"Received: source_lengths={self.source_lengths}"
            )
        if self.lengths[-1] < self.source_lengths[-1] + 2:
            raise ValueError(
                "Expected the last of lengths >= the last of source_lengths + 2, "
                f"so that the longest sentence has a tree. Received: lengths={self.lengths}, "
                f"source_lengths={self.source_lengths}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None, self.word_pieces)), TOKENS: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.symbol_table import SymbolTable
        from keras_attn.text.tokenizer import Tokenizer

        return {SYMBOLS: SymbolTable, WORDS: Tokenizer, TAGS: SymbolTable}

    def learn(self, records):
        """See `Task`: symbols of the trees, pieces of the words, tags."""
        from keras_attn_pipelines.tasks.parsing.features import learn

        return learn(self, records)

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.parsing.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`: cross-entropy of the next symbol, and of each word's tag."""
        from keras_attn_pipelines.experiment.token_objective import token_objective

        sampled = self.scheduled_sampling_rate
        return token_objective(model, self.label_smoothing, sampled, steps, seed, self.spec.targets)

    def callbacks(self, model, data, setting, folder):
        """See `Task`: scores of `scored` trees, evenly spaced among those of dev that fit."""
        from keras_attn_pipelines.tasks.parsing.callbacks import TreeScores

        service = self.service(model, data.extra.vocabularies, setting.model, beam_width=1)
        pairs = data.extra.splits["dev"].pairs
        scored = pairs[:: -(-len(pairs) // self.scored)]
        return Callbacks([TreeScores(service, scored, self.spec.monitors)])

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers

        symbols, tags = vocabularies[SYMBOLS], vocabularies[TAGS]
        return GenerationService(
            model,
            readers.SentenceReader(vocabularies[WORDS], self.source_lengths[-1], self.word_pieces),
            writers.BracketWriter(symbols, tags, self.max_unary_chain, self.max_depth),
            self.search.strategy(beam_width, n_best),
            AnswerLength.of_trees(self.lengths[-1], self.source_lengths[-1]),
            vocabularies,
            views.TREE_VIEWS,
        )

    def request(self, record):
        """See `Task`."""
        source = record.source
        return Request(f"{source!r:.80}", {SOURCE: source.encode()}, len(source))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.parsing.evaluation import evaluate_trees

        return evaluate_trees(records, answers, metadata)

    def card(self, service, description):
        """See `Task`."""
        most, writer = service.length, service.writer
        return {
            "What it does": "Writes the constituency tree of a sentence in brackets: "
            f"{description}, {service.model.count_params():,} parameters, exported "
            f"{date.today().isoformat()}.",
            "Service": "Signature `serving_default`: source (UTF-8; words and punctuation marks "
            "with a space between them) to text (a tree in brackets over exactly these words; "
            "round brackets become -LRB- and -RRB-), score (nats), error. `explain`: also tags, "
            "source_pieces (the words), tokens, pieces (the symbols), token_scores, weights (the "
            "last layer's, mean over its heads, by word). `attention`: source to the best text and "
            "the weights of every layer and head. A sentence has at most "
            f"{service.reader.max_source - 1} words, a tree at most {most.factor} times as many "
            f"symbols as words and {most.extra} more, with at most {writer.max_unary_chain} "
            f"constituents around the same words and {writer.max_depth} inside each other.",
            "Search": search_text(service),
            "License": "Code: Apache-2.0. The weights are subject to the terms of their training "
            "data.",
        }
