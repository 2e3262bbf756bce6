"""Sequence-to-sequence text generation, scored by sacreBLEU's metrics."""

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn.serving import AnswerLength, GenerationService, readers, views, writers
from keras_attn.serving.readers.texts import read_sources
from keras_attn.text.pretrained_tokenizer import PretrainedTokenizer
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.callbacks import GenerationMetrics
from keras_attn_pipelines.data.dropped_merges import dropped_merges
from keras_attn_pipelines.data.sequence_examples import ended, in_parts
from keras_attn_pipelines.data.sequence_training import (
    SequenceFormat,
    arrange_pair,
    sequence_training_data,
)
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.beam_search import search_text
from keras_attn_pipelines.experiment.evaluation import Evaluation, best_texts, listed_texts
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.experiment.token_objective import token_objective

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.seq2seq.settings import Seq2Seq

LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "bleu_lowercase": "BLEU, lower case",
    "exact": "exact match",
}
SCORED = 64
"""Texts of dev that are answered at a time after an epoch."""


@dataclass(frozen=True)
class Seq2SeqWork:
    """See `Work`."""

    task: "Seq2Seq"
    metric_names = LABELS

    def vocabulary_types(self):
        """See `Work`: tokenizers, one of both sides or one of each."""
        names = (TOKENIZER, SOURCE_TOKENIZER)
        kind = PretrainedTokenizer if self.task.is_pretrained else Tokenizer
        return dict.fromkeys(names[:1] if self.task.shares_vocabulary else names, kind)

    def resolve_auto(self, records):
        """See `Work`: the tokenization of BLEU."""
        scoring = self.task.scoring.resolve_auto(pair.target for pair in records)
        return replace(self.task, scoring=scoring)

    def learn(self, records):
        """See `Work`."""
        if self.task.is_pretrained:
            raise ValueError(
                "Expected --from RUN of keras-attn import with vocabulary=pretrained. "
                "Received: no model to start from"
            )

        def learn(*sides):
            return self.task.pieces.learn(getattr(pair, side) for side in sides for pair in records)

        if self.task.shares_vocabulary:
            return {TOKENIZER: learn("source", "target")}
        return {TOKENIZER: learn("target"), SOURCE_TOKENIZER: learn("source")}

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        form = sequence_format(self.task, vocabularies, setting)
        notes = [] if self.task.is_pretrained else self.task.pieces.notes(**vocabularies)
        return sequence_training_data(records, form, vocabularies, notes)

    def objective(self, model, data, steps, seed):
        """See `Work`: cross-entropy of the next piece, optionally scheduled sampling or R-Drop."""
        task = self.task
        sampled = task.scheduled_sampling_rate
        return token_objective(
            model, task.label_smoothing, sampled, steps, seed, r_drop=task.r_drop
        )

    def callbacks(self, model, data, setting, folder):
        """See `Work`: scores of greedy texts, in batches of similar length.

        A source that is too long for the model is replaced by an empty one.
        """
        pairs = sorted(data.splits["dev"], key=lambda pair: len(pair.source))
        target, source = tokenizers(data.extra.vocabularies)
        texts = [pair.source for pair in pairs]
        texts += [""] * (-len(texts) % SCORED)
        contexts = [
            {SOURCE: read_sources(tf.constant(part), source, self.task.longest_source)[0]}
            for part in (texts[start : start + SCORED] for start in range(0, len(texts), SCORED))
        ]

        def length(context):
            counts = tf.math.count_nonzero(context[SOURCE], axis=1, dtype=tf.int32)
            return tf.reduce_max(AnswerLength.of_texts(self.task.lengths[-1]).of(counts))

        scoring = self.task.scoring
        metrics = partial(text_metrics, tokenization=scoring.metric_tokenization)
        references = [pair.target for pair in pairs]
        scores = GenerationMetrics(model, contexts, target, references, length, metrics)
        return Callbacks([scores], notes=scoring.notes(self.task.spec.monitors))

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        target, source = tokenizers(vocabularies)
        return GenerationService(
            model,
            readers.TextReader(source, self.task.longest_source),
            writers.TextWriter(target),
            self.task.search.strategy(beam_width, n_best),
            AnswerLength.of_texts(self.task.lengths[-1], self.task.is_pretrained),
            vocabularies,
            views.TEXT_VIEWS,
        )

    def request(self, record):
        """See `Work`."""
        return Request.of_text(record.source)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        tokenization = self.resolve_auto(records).scoring.metric_tokenization
        texts = best_texts(answers)
        scores = text_metrics(texts, [pair.target for pair in records], tokenization)
        cells = {LABELS[key]: f"{scores[key]:.1f}" for key in LABELS if key != "exact"}
        cells[LABELS["exact"]] = f"{100 * scores['exact']:.1f}%"
        signatures = text_signatures(tokenization=tokenization)
        lines = [f"- {LABELS[key]}: `{signature}`" for key, signature in signatures.items()]
        rows = [{"source": pair.source, "reference": pair.target} for pair in records]
        return Evaluation(
            scores=scores,
            cells=cells,
            count=len(records),
            unit="pairs",
            note="; sacreBLEU's signatures:\n\n" + "\n".join(lines),
            facts={"texts": listed_texts(answers, rows), "signatures": signatures},
            beam_width=metadata["beam_width"],
        )

    def card(self, service, description):
        """See `Work`."""
        weights = getattr(service.model, "shown_weights", "one matrix a text")
        heads = ""
        if "attention" in service.signatures():
            heads = " `attention`: source to the best text and the weights of every layer and head."
        if "align" in service.signatures():
            heads += " `align`: source and target to pieces, source_pieces, cross_weights, error."
        return {
            "What it does": f"Generates text from text: {description}.",
            "Service": "Signature `serving_default`: source (UTF-8) to text, score (nats), error. "
            "`explain`: also source_pieces, tokens, pieces, token_scores, weights (attention to "
            f"the source: {weights}). `score`: source and target to score (log-probability in "
            f"nats), token_scores, error.{heads} A source has at most "
            f"{service.reader.max_source} pieces, an answer at most {service.length}.",
            "Search": search_text(service),
        }


def tokenizers(vocabularies) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of targets and of sources, which may be one."""
    target = vocabularies[TOKENIZER]
    return target, vocabularies.get(SOURCE_TOKENIZER, target)


def sequence_format(task: "Seq2Seq", vocabularies, setting) -> SequenceFormat:
    """How pairs of texts become batches."""
    target, source = tokenizers(vocabularies)
    sides = {SOURCE: (source, attrgetter("source")), TARGET: (target, attrgetter("target"))}

    def tables(pairs):
        return {
            name: ended(in_parts(tokenizer.encode, [text_of(pair) for pair in pairs]))
            for name, (tokenizer, text_of) in sides.items()
        }

    return SequenceFormat(
        encode=tables,
        lengths={SOURCE: task.source_lengths or task.lengths, TARGET: task.lengths},
        units=("pieces", "pieces"),
        arrange=arrange_pair,
        setting=setting,
        **dropped_merges(task.bpe_dropout, sides),
    )
