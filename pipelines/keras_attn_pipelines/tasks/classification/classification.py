"""The classification task, scored by accuracy."""

from typing import ClassVar

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Callbacks, Request, TaskSpec
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.tasks.classification.names import IMAGE, LABELS, LOGITS, TOP


@part
class Classification:
    """Image classification."""

    spec: ClassVar[TaskSpec] = TaskSpec(
        records="labeled pictures", targets=(LOGITS,), accuracy="accuracy", judged=TOP
    )

    pictures: PictureOptions = PictureOptions()
    label_smoothing: float = option(
        "label smoothing: probability spread over all labels", default=0.1, least=0, below=1
    )

    def features(self):
        """See `Task`."""
        size = self.pictures.image_size
        return {IMAGE: Feature((size, size, 3), "uint8")}

    def vocabulary_types(self):
        """See `Task`."""
        from keras_attn.text.label_table import LabelTable

        return {LABELS: LabelTable}

    def learn(self, records):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import learn_labels

        return learn_labels([picture.label for picture in records], "pictures")

    def encode(self, records, vocabularies, setting):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.features import encode

        return encode(self, records, vocabularies[LABELS], setting)

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
        return part.serve(model, vocabularies[LABELS], self.pictures.picture_format(), n_best)

    def request(self, record):
        """See `Task`."""
        return Request(str(record.path), {IMAGE: record.path.read_bytes()})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.evaluation import evaluate_pictures

        return evaluate_pictures(records, answers, vocabularies[LABELS])

    def card(self, service, description):
        """See `Task`."""
        from keras_attn_pipelines.tasks.classification.labels import picture_label_card

        return picture_label_card(service, description)
