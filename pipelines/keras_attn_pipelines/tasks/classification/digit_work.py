"""Classification of distorted digits, scored by accuracy."""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.images.picture_format import PictureFormat
from keras_attn.text.label_table import LabelTable
from keras_attn_pipelines.data.array_examples import WEIGHT, ArrayExamples
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.by_backend import by_backend
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.vocabulary import LABELS
from keras_attn_pipelines.experiment.parts import Callbacks, Request
from keras_attn_pipelines.tasks.classification.digit_distortions import (
    DIGIT,
    Bent,
    Cluttered,
    Projected,
    Turned,
)
from keras_attn_pipelines.tasks.classification.digits import Digits
from keras_attn_pipelines.tasks.classification.labels import (
    evaluate_pictures,
    in_words,
    label_objective,
    learn_labels,
    picture_label_card,
)
from keras_attn_pipelines.tasks.classification.picture_work import LABEL

if TYPE_CHECKING:
    from keras_attn_pipelines.tasks.classification.settings import DistortedDigits
from keras_attn_pipelines.tasks.classification.transformer_film import film_callbacks

FIXED_SEED = 1506_02025
"""Seed of the distortions of dev and test, which are always the same."""
FIXED_BATCH = 500
"""Digits of dev or test that are distorted together, as clutter takes pieces of other digits."""
SHOWN = 8


@dataclass(frozen=True)
class Distorted:
    """Applies a distortion by name.

    Attributes:
        distortion: one of DISTORTED_SIZES.
    """

    distortion: str
    kinds: ClassVar = {
        "rotation": Turned(),
        "rotation_scale_translation": Turned(size=42, degrees=45.0, scales=(0.7, 1.2)),
        "projective": Projected(),
        "elastic": Bent(),
        "cluttered": Cluttered(),
    }

    def __call__(self, digits, seed):
        """uint8 (B, 28, 28) and a seed int64 (2,) to uint8 (B, height, width, 3)."""
        distort = self.kinds[self.distortion]
        distorted = distort(tf.cast(digits, tf.float32)[..., None] / 255.0, seed)
        bright = tf.cast(tf.clip_by_value(tf.round(255.0 * distorted), 0, 255), tf.uint8)
        return tf.repeat(bright, 3, axis=-1)

    def fixed(self, digits: Digits, start: int) -> np.ndarray:
        """Pictures of FIXED_BATCH digits from `start` on, always distorted in the same way."""
        seed = tf.constant([FIXED_SEED, start], tf.int64)
        return self(tf.constant(digits.pictures[start : start + FIXED_BATCH]), seed).numpy()

    def all_fixed(self, digits: Digits) -> np.ndarray:
        """Pictures of all digits, always distorted in the same way."""
        return np.concatenate(
            [self.fixed(digits, start) for start in range(0, len(digits), FIXED_BATCH)]
        )


@dataclass(frozen=True)
class DigitWork:
    """See `Work`."""

    task: "DistortedDigits"

    def vocabulary_types(self):
        """See `Work`."""
        return {LABELS: LabelTable}

    def learn(self, records):
        """See `Work`."""
        return learn_labels(records.labels, "digits")

    def encode(self, records, vocabularies, setting):
        """See `Work`."""
        labels = vocabularies[LABELS]
        splits, fit = records.splits, setting.fit
        known = {*splits["train"].labels, *splits["dev"].labels}
        if unknown_labels := sorted(label for label in known if labels.id_of(label) is None):
            raise ValueError(
                f"Expected only labels {in_words(labels.names)} in train and dev, which is "
                f"taken from the end of the training digits. Received: {in_words(unknown_labels)}"
            )
        distort, size = Distorted(self.task.distortion), (self.task.size,) * 2
        mapped = by_backend(distort, tf.uint8)

        def arrange(features, pictures):
            parts = (pictures, features[LABEL], features[WEIGHT])
            return tuple(
                tf.ensure_shape(tensor, (fit.batch_size, *tensor.shape[1:])) for tensor in parts
            )

        def distorted(features, step):
            digits = tf.ensure_shape(features[IMAGE], (None, DIGIT, DIGIT))
            seed = tf.stack([tf.constant(fit.seed, tf.int64), step])
            return arrange(features, tf.ensure_shape(mapped(digits, seed), (None, *size, 3)))

        def classes(digits):
            return np.array([labels.id_of(label) for label in digits.labels], "int32")

        train, dev = splits["train"], splits["dev"]
        examples = ArrayExamples({IMAGE: train.pictures, LABEL: classes(train)})
        training = Batches(examples, fit.batch_size, distorted, fit.seed)
        pictures = distort.all_fixed(dev)
        validation = Batches(
            ArrayExamples({IMAGE: pictures, LABEL: classes(dev)}),
            fit.batch_size,
            lambda features, step: arrange(features, features[IMAGE]),
        )
        return TrainingData(
            splits=splits,
            training=training.training,
            dev=validation.dataset(),
            steps=training.steps,
            lines=[f"labels: {in_words(labels.names)}"],
            extra=lambda: pictures[:SHOWN],
        )

    def objective(self, model, data, steps, seed):
        """See `Work`."""
        return label_objective(model, self.task.label_smoothing)

    def callbacks(self, model, data, setting, folder):
        """See `Work`: a film of what spatial transformers read."""
        return Callbacks(pictures=film_callbacks(model, data.extra, folder))

    def service(self, model, vocabularies, part, beam_width=None, n_best=1):
        """See `Work`."""
        picture_format = PictureFormat(self.task.size, self.task.size)
        return part.serve(model, vocabularies[LABELS], picture_format, n_best)

    def request(self, record):
        """See `Work`; digits of dev and test always have the same distortions."""
        first = record.place // FIXED_BATCH * FIXED_BATCH
        picture = _fixed(self.task.distortion, record.digits, first)[record.place - first]
        return Request(record.name, {IMAGE: tf.io.encode_png(picture[..., :1]).numpy()})

    def evaluation(self, records, answers, vocabularies, metadata):
        """See `Work`."""
        return evaluate_pictures(records, answers, vocabularies[LABELS], "digits")

    def card(self, service, description):
        """See `Work`."""
        return picture_label_card(service, description)


@functools.lru_cache(maxsize=2)
def _fixed(distortion, digits, start):
    return Distorted(distortion).fixed(digits, start)
