"""Labeled pictures as named features."""

import numpy as np
import tensorflow as tf

from keras_attn.contracts import IMAGE
from keras_attn.text.label_table import LabelTable
from keras_attn_pipelines.data.array_examples import WEIGHT, ArrayExamples
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.skipped import Skipped
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.tasks.classification.labels import (
    LabelFeatures,
    in_words,
    known_labels,
    unknown_reason,
)

LABEL = "label"
SHOWN = 8
"""Number of dev pictures that are drawn."""


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


def encode(task, records, labels: LabelTable, setting) -> TrainingData:
    """Training data of labeled pictures: see `Task.encode`."""
    splits, unknown = known_labels(records.splits, labels, lambda one: one.label, "picture")
    skipped = [
        Skipped(picture.path, 0, unknown_reason(picture.label), picture.name) for picture in unknown
    ]
    picture_format, fit = task.pictures.picture_format(), setting.fit

    def batches(name, augmentation):
        return labeled_batches(
            splits[name], labels, picture_format, fit.batch_size, augmentation, fit.seed
        )

    train = batches("train", task.pictures.augmentation(fit.seed))

    def shown():
        dev = splits["dev"]
        places = np.unique(np.linspace(0, len(dev) - 1, SHOWN).astype(int))
        contents = tf.constant([dev[place].path.read_bytes() for place in places])
        return picture_format.decode_batch(contents)[0].numpy()

    return TrainingData(
        splits=splits,
        training=train.training,
        dev=batches("dev", None).dataset(),
        steps=train.steps,
        skipped=skipped,
        lines=[f"labels: {in_words(labels.names)}"],
        batch=train.graph_batch,
        extra=LabelFeatures(labels, shown),
    )
