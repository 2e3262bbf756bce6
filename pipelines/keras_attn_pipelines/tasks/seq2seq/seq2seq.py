"""The sequence-to-sequence task, scored by sacreBLEU's metrics."""

from dataclasses import replace
from datetime import date
from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.beam_search import BeamSearch, search_text
from keras_attn_pipelines.experiment.fields import is_increasing, option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.experiment.scoring import TextScoring
from keras_attn_pipelines.tasks.seq2seq.names import (
    LOGITS,
    SOURCE,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    TOKENS,
)

SHARED, SEPARATE = "shared", "separate"
MOST_PIECES = 2**24


@part
class Seq2Seq:
    """Text to text: translation, summaries, paraphrases, answers."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="pairs of texts",
        targets=(LOGITS,),
        monitors=("bleu", "chrf", "bleu_lowercase", "exact"),
        best_possible={"bleu": 100, "chrf": 100, "bleu_lowercase": 100},
        batches_of_tokens=True,
    )

    vocabulary: str = option(
        "one vocabulary for both sides, or one for each",
        default=SHARED,
        settled=True,
        choices=(SHARED, SEPARATE),
    )
    vocabulary_size: int = option(
        "maximum vocabulary size of a tokenizer", default=8000, settled=True, most=MOST_PIECES
    )
    lowercase: bool = option("lowercase texts", default=False, settled=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths of targets, in pieces", default=(12, 16, 20, 24, 32, 48, 96), buckets=True
    )
    source_lengths: tuple[int, ...] = option(
        "bucket lengths of sources, in pieces; none: same as targets", default=()
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over the vocabulary", default=0.1, least=0, below=1
    )
    bpe_dropout: float = option(
        "probability that a merge of pieces is skipped in training texts (BPE dropout)",
        default=0.0,
        least=0,
        below=1,
    )
    scheduled_sampling_rate: float = option(
        "fraction of decoder inputs sampled from the model by the end of training",
        default=0.0,
        least=0,
        most=1,
    )
    r_drop: float = option(
        "weight of R-Drop, which lets each batch pass twice under different dropout; 0 for none",
        default=0.0,
        least=0,
        most=1000,
    )
    search: BeamSearch = BeamSearch(length_alpha=0.6)
    scoring: TextScoring = TextScoring()

    def check(self):
        """Raises ValueError for R-Drop with scheduled sampling, or other buckets of sources."""
        if self.r_drop and self.scheduled_sampling_rate:
            raise ValueError(
                "Expected r_drop=0 with scheduled_sampling_rate > 0. "
                f"Received: r_drop={self.r_drop}, "
                f"scheduled_sampling_rate={self.scheduled_sampling_rate}"
            )
        lengths = self.source_lengths
        if lengths and not (is_increasing(lengths) and len(lengths) == len(self.lengths)):
            raise ValueError(
                f"Expected source_lengths to be increasing and >= 1, as many as "
                f"lengths={self.lengths}. "
                f"Received: source_lengths={lengths}"
            )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,)), TOKENS: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`: tokenizers, one of both sides or one of each."""
        from keras_attn.text.tokenizer import Tokenizer

        separate = {SOURCE_TOKENIZER: Tokenizer} if self.vocabulary == SEPARATE else {}
        return {TARGET_TOKENIZER: Tokenizer, **separate}

    def resolve_auto(self, records):
        """See `Task`: the tokenization of BLEU."""
        return replace(self, scoring=self.scoring.resolve_auto(pair.target for pair in records))

    def learn(self, records):
        """See `Task`."""
        from keras_attn.text.tokenizer import Tokenizer

        def learn(*sides):
            texts = (getattr(pair, side) for side in sides for pair in records)
            return Tokenizer.learn(texts, self.vocabulary_size, self.lowercase)

        if self.vocabulary == SHARED:
            return {TARGET_TOKENIZER: learn("source", "target")}
        return {TARGET_TOKENIZER: learn("target"), SOURCE_TOKENIZER: learn("source")}

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.seq2seq.features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`: cross-entropy of the next piece, optionally scheduled sampling or R-Drop."""
        from keras_attn_pipelines.experiment.token_objective import token_objective

        sampled = self.scheduled_sampling_rate
        return token_objective(
            model, self.label_smoothing, sampled, steps, seed, r_drop=self.r_drop
        )

    def callbacks(self, model, data, setting, folder):
        """See `Task`."""
        from keras_attn_pipelines.tasks.seq2seq.callbacks import text_scoring

        notes = self.scoring.notes(self.spec.monitors)
        return Callbacks([text_scoring(self, model, data)], notes=notes)

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers

        target = vocabularies[TARGET_TOKENIZER]
        source = vocabularies.get(SOURCE_TOKENIZER, target)
        return GenerationService(
            model,
            readers.TextReader(source, self.longest_source),
            writers.TextWriter(target),
            self.search.strategy(beam_width, n_best),
            AnswerLength.of_texts(self.lengths[-1]),
            vocabularies,
            views.TEXT_VIEWS,
        )

    def request(self, record):
        """See `Task`."""
        source = record.source
        return Request(f"{source!r:.80}", {SOURCE: source.encode()}, len(source))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.seq2seq.evaluation import evaluate_texts

        return evaluate_texts(records, answers, metadata, self.resolve_auto(records).scoring)

    def card(self, service, description):
        """See `Task`."""
        shown = getattr(service.model, "shown_weights", "one matrix a text")
        heads = ""
        if "attention" in service.signatures():
            heads = " `attention`: source to the best text and the weights of every layer and head."
        if "align" in service.signatures():
            heads += " `align`: source and target to pieces, source_pieces, cross_weights, error."
        return {
            "What it does": f"Generates text from text: {description}, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}.",
            "Service": "Signature `serving_default`: source (UTF-8) to text, score (nats), error. "
            "`explain`: also source_pieces, tokens, pieces, token_scores, weights (attention to "
            f"the source: {shown}). `score`: source and target to score (log-probability in "
            f"nats), token_scores, error.{heads} A source has at most "
            f"{service.reader.max_source} pieces, an answer at most {service.length}.",
            "Search": search_text(service),
            "License": "Code: Apache-2.0. The weights are subject to the terms of their training "
            "data.",
        }

    @property
    def longest_source(self) -> int:
        """Maximum number of pieces of a source, end included."""
        return (self.source_lengths or self.lengths)[-1]
