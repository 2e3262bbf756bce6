"""The classification of texts, scored by accuracy."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.tasks.classification.names import (
    LABELS,
    LOGITS,
    SOURCE,
    TOKENIZER,
    TOP,
)

MOST_PIECES = 2**24


@part
class TextClassification:
    """Text classification: sentiment, topic, intent."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="labeled texts",
        targets=(LOGITS,),
        accuracy="accuracy",
        batches_of_tokens=True,
        judged=TOP,
    )

    vocabulary_size: int = option(
        "maximum vocabulary size of the tokenizer", default=8000, settled=True, most=MOST_PIECES
    )
    lowercase: bool = option("lowercase texts", default=True, settled=True)
    lengths: tuple[int, ...] = option(
        "bucket lengths of texts, in pieces",
        default=(16, 32, 64, 128, 256, 512, 1024),
        buckets=True,
    )
    bpe_dropout: float = option(
        "probability that a merge of pieces is skipped in training texts (BPE dropout)",
        default=0.0,
        least=0,
        below=1,
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.1, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        return {SOURCE: Feature((None,))}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.label_table import LabelTable
        from keras_attn.text.tokenizer import Tokenizer

        return {TOKENIZER: Tokenizer, LABELS: LabelTable}

    def learn(self, records):
        """See `Task`."""
        from keras_attn.text.tokenizer import Tokenizer
        from keras_attn_pipelines.tasks.classification.labels import learn_labels

        labels = learn_labels([pair.target for pair in records], "texts")
        texts = [pair.source for pair in records]
        return {TOKENIZER: Tokenizer.learn(texts, self.vocabulary_size, self.lowercase), **labels}

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.text_features import encode

        return encode(self, records, vocabularies, setting)

    def objective(self, model, data, steps, seed):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import label_objective

        return label_objective(model, self.label_smoothing)

    def callbacks(self, model, data, setting, folder):
        """See `Task`: none; `fit` already computes all metrics."""
        return Callbacks()

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn.serving import LabelService, looks, readers, views, writers
        from keras_attn_pipelines.tasks.classification.labels import check_no_beam

        check_no_beam(beam_width)
        return LabelService(
            model,
            readers.TextReader(vocabularies[TOKENIZER], self.lengths[-1]),
            writers.LabelWriter(vocabularies[LABELS], n_best),
            looks.text_looks(model),
            vocabularies,
            views.SHADED_VIEWS,
        )

    def request(self, record):
        """See `Task`."""
        source = record.source
        return Request(f"{source!r:.80}", {SOURCE: source.encode()}, len(source))

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.evaluation import evaluate_labels

        truth = [pair.target for pair in records]
        named = [{SOURCE: pair.source} for pair in records]
        return evaluate_labels(truth, named, answers, vocabularies[LABELS], "texts")

    def card(self, service, description):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import label_card

        answers = (
            "Signature `serving_default`: source (UTF-8) to labels, scores (probabilities), error. "
            "`explain`: also source_pieces and weights (the share of each piece in the pooled "
            f"vector). A text has at most {service.reader.max_source} pieces, its end included."
        )
        return label_card(service, description, "texts", answers)
