"""Image classification, scored by accuracy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.images.formats.reasons import MOST_PIXELS
from keras_attn.text.label_table import LabelTable
from keras_attn_pipelines.data.array_examples import WEIGHT, ArrayExamples
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.vocabulary import LABELS
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.tasks.classification.labels import (
    evaluate_pictures,
    in_words,
    known_labels,
    label_objective,
    learn_labels,
    picture_label_card,
    unknown_reason,
)

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.classification.settings import Classification
from keras_attn_pipelines.tasks.classification.transformer_film import film_callbacks

LABEL = "label"
SHOWN = 8
"""Number of dev pictures that are drawn."""


@dataclass(frozen=True)
class PictureWork:
    """See `Work`."""

    task: "Classification"

    def vocabulary_types(self):
        """See `Work`."""
        return {LABELS: LabelTable}

    def learn(self, records):
        """See `Work`."""
        return learn_labels([picture.label for picture in records], "pictures")

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        labels = vocabularies[LABELS]
        if setting.start is None and (check := getattr(setting.model, "check_pictures", None)):
            check(self.task.pictures)
        splits, unknown = known_labels(
            records.splits, labels, lambda picture: picture.label, "picture"
        )
        skipped = [
            Skipped(picture.path, 0, unknown_reason(picture.label), picture.name)
            for picture in unknown
        ]
        picture_format, fit = self.task.pictures.picture_format(), setting.fit

        def batches(name, augmentation):
            return labeled_batches(
                splits[name], labels, picture_format, fit.batch_size, augmentation, fit.seed
            )

        train = batches("train", self.task.pictures.augmentation(fit.seed))

        def shown():
            dev = splits["dev"]
            places = np.unique(np.linspace(0, len(dev) - 1, SHOWN).astype(int))
            contents = tf.constant([dev[place].path.read_bytes() for place in places])
            files = picture_format.for_batches(SHOWN, MOST_PIXELS)
            return files.decode_batch(contents)[0].numpy()

        return TrainingData(
            splits=splits,
            training=train.training,
            dev=batches("dev", None).dataset(),
            steps=train.steps,
            skipped=skipped,
            lines=[f"labels: {in_words(labels.names)}"],
            extra=shown,
        )

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        return label_objective(model, self.task.label_smoothing)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: a film of what spatial transformers read."""
        return Callbacks(pictures=film_callbacks(model, data.extra, folder))

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        picture_format = self.task.pictures.picture_format()
        return part.serve(model, vocabularies[LABELS], picture_format, n_best)

    def request(self, record):
        """See `Work`."""
        return Request(str(record.path), {IMAGE: record.path.read_bytes()})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        return evaluate_pictures(records, answers, vocabularies[LABELS])

    def card(self, service, description):
        """See `Work`."""
        return picture_label_card(service, description)


def labeled_batches(records, labels: LabelTable, picture_format, size, augmentation, seed):
    """`Batches` of labeled pictures.

    Inputs: uint8 (B, height, width, 3). Targets: int32 (B,). Weights: float32 (B,), 0 for padding.

    Args:
        records: the pictures.
        labels: `LabelTable` that knows every label.
        picture_format: `PictureFormat`.
        size: B.
        augmentation: `Augmentation`, or None.
        seed: shuffling seed.
    """

    def arrange(features, step):
        pictures = features[IMAGE]
        if augmentation is not None:
            pictures = augmentation(pictures, step)
        parts = (pictures, features[LABEL], features[WEIGHT])
        return tuple(tf.ensure_shape(tensor, (size, *tensor.shape[1:])) for tensor in parts)

    classes = np.array([labels.id_of(picture.label) for picture in records], "int32")
    paths = [str(picture.path) for picture in records]
    return Batches(ArrayExamples({LABEL: classes}), size, arrange, seed, paths, picture_format)
