"""The data-to-text task, scored by its texts, the order of facts, and the values in them."""

from dataclasses import replace
from datetime import date
from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch, search_text
from keras_attn_pipelines.experiment.fields import is_increasing, option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.experiment.scoring import TextScoring
from keras_attn_pipelines.tasks.data_to_text.names import (
    FIELDS,
    LOGITS,
    SOURCE,
    SOURCE_COLUMNS,
    TOKENIZER,
    TOKENS,
)

MOST_PIECES = 2**24


@part
class DataToText:
    """Facts to text: triples of a graph, or fields and values of a table."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="facts with texts",
        targets=(LOGITS,),
        monitors=("bleu", "chrf", "mentioned", "copied"),
        best_possible={"bleu": 100, "chrf": 100},
        batches_of_tokens=True,
    )

    vocabulary_size: int = option(
        "maximum vocabulary size of the tokenizer", default=4000, settled=True, most=MOST_PIECES
    )
    slots: int = option(
        "most names of a set that get a token each, never more than the largest training set has; "
        "0: none",
        default=0,
        settled=True,
        least=0,
        most=4096,
    )
    lowercase: bool = option("lowercase facts and texts", default=False, settled=True)
    max_facts: int = option("maximum facts of a set", default=16, settled=True, least=1)
    lengths: tuple[int, ...] = option(
        "bucket lengths of texts, in pieces",
        default=(18, 24, 30, 36, 42, 50, 60, 76, 128),
        buckets=True,
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths of sets of facts, in pieces, as many as lengths",
        default=(16, 24, 34, 44, 54, 66, 82, 104, 384),
        buckets=True,
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    made_up_names: float = option(
        "probability that a name is replaced by a made-up one in training batches, in the facts "
        "and in the text",
        default=0.0,
        least=0,
        below=1,
    )
    name_dropout: float = option(
        "probability that a name with a slot is reduced to its slot in training batches",
        default=0.0,
        least=0,
        below=1,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.6)
    scoring: TextScoring = TextScoring()

    def check(self):
        """Raises ValueError unless there are as many source_lengths as lengths."""
        lengths = self.source_lengths
        if not (is_increasing(lengths) and len(lengths) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths to be increasing and >= 1, as many as "
                f"lengths={self.lengths}. Received: source_lengths={lengths}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None, SOURCE_COLUMNS)), TOKENS: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.slot_tokenizer import SlotTokenizer
        from keras_attn.text.symbol_table import SymbolTable

        return {TOKENIZER: SlotTokenizer, FIELDS: SymbolTable}

    def resolve_auto(self, records):
        """See `Task`: the tokenization of BLEU."""
        texts = (text for record in records for text in record.texts)
        return replace(self, scoring=self.scoring.resolve_auto(texts))

    def learn(self, records):
        """See `Task`."""
        from keras_attn_pipelines.tasks.data_to_text.features import learn

        return learn(self, records)

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.data_to_text.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`: cross-entropy of the next piece."""
        from keras_attn_pipelines.experiment.token_objective import token_objective

        return token_objective(model, self.label_smoothing, 0.0, steps, seed)

    def callbacks(self, model, data, setting, folder):
        """See `Task`."""
        from keras_attn_pipelines.tasks.data_to_text.callbacks import text_scoring

        notes = self.scoring.notes(self.spec.monitors, several=True)
        return Callbacks([text_scoring(self, model, data)], notes=notes)

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers

        tokenizer, fields = vocabularies[TOKENIZER], vocabularies[FIELDS]
        return GenerationService(
            model,
            readers.FactReader(tokenizer, fields, self.source_lengths[-1], self.max_facts),
            writers.SlotWriter(tokenizer),
            self.search.strategy(beam_width, n_best),
            AnswerLength.of_texts(self.lengths[-1]),
            vocabularies,
            views.FACT_VIEWS,
        )

    def request(self, record):
        """See `Task`."""
        from keras_attn.contracts import FACTS
        from keras_attn_pipelines.tasks.data_to_text.features import strings_of

        facts = strings_of(record.facts, len(record.facts))
        return Request(f"{record.source!r:.80}", {FACTS: facts}, len(record.source))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.data_to_text.evaluation import evaluate_texts

        return evaluate_texts(records, answers, metadata, self.resolve_auto(records).scoring)

    def card(self, service, description):
        """See `Task`."""
        reader = service.reader
        return {
            "What it does": f"Says facts in sentences: {description}, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: facts (strings [B, n, 3], UTF-8: subject, "
            "property and object; three empty strings are padding; the subject is empty in tables) "
            "to text, score (nats), error. `explain`: also source_pieces, source_facts (the fact "
            "of each piece, from 1), tokens, pieces, token_scores, weights (attention to the "
            "pieces, of planning and of copying), links (which fact the link matrix expects first, "
            "and after each). "
            "`score`: facts and target to score (log-probability in nats), token_scores, error. "
            f"A set has at most {reader.max_facts} facts and {reader.max_source} pieces. The order "
            "of the facts does not matter.",
            "Search": search_text(service)
            + (" Answers that use most of the set's slots come first." if self.slots else ""),
            "License": "Code: Apache-2.0. The weights are subject to the terms of their training "
            "data.",
        }
