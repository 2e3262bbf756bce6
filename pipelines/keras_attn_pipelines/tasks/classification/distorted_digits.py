"""Classification of digits with random distortions in each epoch."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.tasks.classification.names import (
    DISTORTED_SIZES,
    IMAGE,
    LABELS,
    LOGITS,
    TOP,
)


@part
class DistortedDigits:
    """Classification of distorted digits."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="digits", targets=(LOGITS,), accuracy="accuracy", judged=TOP
    )

    distortion: str = option(
        "how digits are distorted", default="rotation", settled=True, choices=tuple(DISTORTED_SIZES)
    )
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.0, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        size = DISTORTED_SIZES[self.distortion]
        return {IMAGE: Feature((size, size, 3), "uint8")}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.label_table import LabelTable

        return {LABELS: LabelTable}

    def learn(self, records):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import learn_labels

        return learn_labels(records.labels, "digits")

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.digit_features import encode

        return encode(self.distortion, records, vocabularies[LABELS], setting)

    def objective(self, model, data, steps, seed):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import label_objective

        return label_objective(model, self.label_smoothing)

    def callbacks(self, model, data, setting, folder):
        """See `Task`: a film of what spatial transformers read."""
        from keras_attn_pipelines.tasks.classification.transformer_film import film_callbacks

        return Callbacks(pictures=film_callbacks(model, data.extra, folder))

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import check_no_beam

        check_no_beam(beam_width)
        return part.serve(model, vocabularies[LABELS], self._picture_format(), n_best)

    def request(self, record):
        """See `Task`; digits of dev and test always have the same distortions."""
        from keras_attn_pipelines.tasks.classification.digit_features import encoded_digit

        return Request(record.name, {IMAGE: encoded_digit(self.distortion, record)})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.evaluation import evaluate_pictures

        return evaluate_pictures(records, answers, vocabularies[LABELS], "digits")

    def card(self, service, description):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import picture_label_card

        return picture_label_card(service, description)

    def _picture_format(self):
        from keras_attn.images.picture_format import PictureFormat

        return PictureFormat(DISTORTED_SIZES[self.distortion], DISTORTED_SIZES[self.distortion])
