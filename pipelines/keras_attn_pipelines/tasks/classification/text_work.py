"""Text classification, scored by accuracy."""

from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_attn.contracts import SOURCE, TARGET
from keras_attn.serving import LabelService, classifier_functions, readers, views, writers
from keras_attn.text.label_table import LabelTable
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.dropped_merges import dropped_merges
from keras_attn_pipelines.data.sequence_examples import ended, in_parts
from keras_attn_pipelines.data.sequence_training import SequenceFormat, sequence_training_data
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.vocabulary import LABELS, TOKENIZER
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.tasks.classification.labels import (
    evaluate_labels,
    in_words,
    known_labels,
    label_card,
    label_objective,
    learn_labels,
    unknown_reason,
)

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.classification.settings import TextClassification


@dataclass(frozen=True)
class TextWork:
    """See `Work`."""

    task: "TextClassification"

    def vocabulary_types(self):
        """See `Work`."""
        return {TOKENIZER: Tokenizer, LABELS: LabelTable}

    def learn(self, records):
        """See `Work`."""
        labels = learn_labels([pair.target for pair in records], "texts")
        return {TOKENIZER: self.task.pieces.learn([pair.source for pair in records]), **labels}

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        labels = vocabularies[LABELS]
        splits, unknown = known_labels(records.splits, labels, lambda pair: pair.target, "text")
        skipped = [
            Skipped(records.files.get("dev", Path("-")), pair.line, unknown_reason(pair.target))
            for pair in unknown
        ]
        lines = self.task.pieces.notes(**{TOKENIZER: vocabularies[TOKENIZER]})
        lines.append(f"labels: {in_words(labels.names)}")
        form = text_format(self.task, vocabularies, setting)
        records = replace(records, splits=splits)
        return sequence_training_data(records, form, vocabularies, lines, skipped)

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        return label_objective(model, self.task.label_smoothing)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        return LabelService(
            model,
            readers.TextReader(vocabularies[TOKENIZER], self.task.lengths[-1]),
            writers.LabelWriter(vocabularies[LABELS], n_best),
            classifier_functions.text_functions(model),
            vocabularies,
            views.CONTRIBUTION_VIEWS,
        )

    def request(self, record):
        """See `Work`."""
        return Request.of_text(record.source)

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        truth = [pair.target for pair in records]
        named = [{SOURCE: pair.source} for pair in records]
        return evaluate_labels(truth, named, answers, vocabularies[LABELS], "texts")

    def card(self, service, description):
        """See `Work`."""
        answers = (
            "Signature `serving_default`: source (UTF-8) to labels, scores (probabilities), error. "
            "`explain`: also source_pieces and weights (the share of each piece in the pooled "
            f"vector). A text has at most {service.reader.max_source} pieces, its end included."
        )
        return label_card(service, description, "texts", answers)


def text_format(task, vocabularies, setting) -> SequenceFormat:
    """How labeled texts become batches.

    Inputs: int32 (B, S), END_ID last. Targets: int32 (B,). Weights: float32 (B,), 0 for padding.
    """
    tokenizer, labels = vocabularies[TOKENIZER], vocabularies[LABELS]

    def tables(pairs):
        texts = in_parts(tokenizer.encode, [pair.source for pair in pairs])
        # One more than the label, since a row of padding has 0.
        classes = RaggedTable.of([[labels.id_of(pair.target) + 1] for pair in pairs])
        return {SOURCE: ended(texts), TARGET: classes}

    return SequenceFormat(
        encode=tables,
        lengths={SOURCE: task.lengths, TARGET: (1,) * len(task.lengths)},
        units=("pieces", ""),
        arrange=_arrange,
        setting=setting,
        record="text",
        **dropped_merges(task.bpe_dropout, {SOURCE: (tokenizer, attrgetter("source"))}),
    )


def _arrange(features, step):
    classes = features[TARGET][:, 0]
    weights = tf.cast(classes > 0, tf.float32)
    return features[SOURCE], tf.maximum(classes - 1, 0), weights
