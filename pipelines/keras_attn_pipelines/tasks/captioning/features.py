"""Captioned pictures as named features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import keras
import numpy as np
import tensorflow as tf

from keras_attn.contracts import END_ID, FEATURES, IMAGE, TARGET, TOKENS
from keras_attn.images.picture_format import PictureFormat
from keras_attn.text.tokenizer import Tokenizer
from keras_attn.training.teacher_forcing import teacher_forcing
from keras_attn_pipelines.data.ahead import ahead
from keras_attn_pipelines.data.batches import Batches
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.picture_folder import CaptionedPicture
from keras_attn_pipelines.data.read_pictures import BATCHES, read_pictures
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import TrainingData
from keras_attn_pipelines.data.user_cache import user_cache
from keras_attn_pipelines.tasks.captioning.feature_cache import cached_features
from keras_attn_pipelines.tasks.captioning.vocabularies import LEARNED


@dataclass(frozen=True)
class CaptionExamples:
    """Rows of a picture with a few of its captions; a picture with more captions has several rows.

    Attributes:
        pictures: int32 (R,), the picture of each row.
        captions: `RaggedTable` of R · C captions, C per row, padded with empty ones.
        per_picture: C.
        lengths: bucket lengths T, in pieces including the end.
        buckets: int32 (R,).
        cut: number of captions truncated to the longest bucket.
        encoded: float (pictures, S, D), features of a frozen encoder; None where pictures are read.
    """

    pictures: np.ndarray
    captions: RaggedTable
    per_picture: int
    lengths: tuple[int, ...]
    buckets: np.ndarray
    cut: int
    encoded: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        records: Sequence[CaptionedPicture],
        tokenizer: Tokenizer,
        per_picture: int,
        lengths: tuple[int, ...],
    ) -> "CaptionExamples":
        """Encodes captions into rows; captions longer than all buckets are truncated."""
        texts = [caption for record in records for caption in record.captions]
        encoded = [[*ids, END_ID] for ids in tokenizer.encode(texts).to_list()]
        remaining = (ids[: lengths[-1]] for ids in encoded)
        pictures, captions, longest = [], [], []
        for picture, record in enumerate(records):
            sequences = [next(remaining) for _ in record.captions]
            for start in range(0, len(sequences), per_picture):
                row = sequences[start : start + per_picture]
                pictures.append(picture)
                captions += row + [[]] * (per_picture - len(row))
                longest.append(max(map(len, row)))
        buckets = np.searchsorted(lengths, longest).astype("int32")
        cut = sum(len(ids) > lengths[-1] for ids in encoded)
        table, places = RaggedTable.of(captions), np.array(pictures, "int32")
        return cls(places, table, per_picture, lengths, buckets, cut)

    @property
    def features(self) -> Mapping[str, Feature]:
        """See `Examples`."""
        features = {TARGET: Feature((self.per_picture, None))}
        if self.encoded is not None:
            features[FEATURES] = Feature(self.encoded.shape[1:], self.encoded.dtype.name)
        return features

    def take(self, rows: np.ndarray, step: int) -> dict[str, np.ndarray]:
        """See `Examples`."""
        length = self.lengths[self.buckets[rows[0]]]
        places = rows[:, None] * self.per_picture + np.arange(self.per_picture)
        places = np.where(rows[:, None] >= 0, places, -1)
        captions = self.captions.take(places.ravel(), length)
        arrays = {TARGET: captions.reshape(len(rows), self.per_picture, length)}
        if self.encoded is not None:
            encoded = np.array(self.encoded[self.pictures[np.maximum(rows, 0)]])
            encoded[rows < 0] = 0
            arrays[FEATURES] = encoded
        return arrays


@dataclass(frozen=True)
class CaptionFeatures:
    """What the task needs again during training.

    Attributes:
        tokenizer: `Tokenizer`.
        encoded: features of dev's pictures, an array (pictures, S, D); None where these are read.
    """

    tokenizer: Tokenizer
    encoded: np.ndarray | None


def caption_batches(examples: CaptionExamples, records, picture_format, size, augmentation, seed):
    """`Batches` of examples, of `size` rows each.

    Inputs: dict with TOKENS int32 (B, C, T) and IMAGE uint8 (B, height, width, 3), or FEATURES
    (B, S, D). Targets: int32 (B, C, T). Weights: float32 (B, C, T).

    Args:
        examples: `CaptionExamples` of the records.
        records: the pictures.
        picture_format: `PictureFormat`.
        size: B.
        augmentation: `Augmentation`, or None. Features of a frozen encoder are not augmented.
        seed: shuffling seed.
    """
    reads_pictures = examples.encoded is None
    key = IMAGE if reads_pictures else FEATURES

    def arrange(features, step):
        pictures, targets = features[key], features[TARGET]
        if reads_pictures and augmentation is not None:
            pictures = augmentation(pictures, step)
        targets = tf.ensure_shape(targets, (size, examples.per_picture, None))
        pictures = tf.ensure_shape(pictures, (size, *pictures.shape[1:]))
        tokens, targets, weights = teacher_forcing(targets)
        return {key: pictures, TOKENS: tokens}, targets, weights

    paths = [str(records[picture].path) for picture in examples.pictures]
    return Batches(examples, size, arrange, seed, paths if reads_pictures else None, picture_format)


def encode(task, records, tokenizer, setting) -> TrainingData:
    """Training data of captioned pictures: see `Work.encode`."""
    tuning, splits = setting.model.tuning, records.splits
    if setting.start is None and (check := getattr(setting.model.encoder, "check_pictures", None)):
        check(task.pictures)
    examples = {
        name: CaptionExamples.of(splits[name], tokenizer, task.captions_per_picture, task.lengths)
        for name in ("train", "dev")
    }
    whole = _training_data(task, splits, tokenizer, setting, examples)
    if tuning.unfreeze_step >= whole.steps * setting.fit.epochs:
        raise ValueError(
            f"Expected unfreeze_step < {whole.steps * setting.fit.epochs}, the steps of the whole "
            f"training. Received: unfreeze_step={tuning.unfreeze_step}"
        )
    if tuning.fine_tune and not tuning.unfreeze_step:
        return whole
    for name, encoded in _encoded(task, splits, setting).items():
        examples[name] = replace(examples[name], encoded=encoded)
    frozen = _training_data(task, splits, tokenizer, setting, examples)
    lines = list(frozen.lines)
    if task.pictures.changes and examples["train"].encoded is not None:
        lines.append("until the encoder trains, cached features of unaugmented pictures are used")
    unfrozen = (lambda: whole) if tuning.fine_tune else None
    step = tuning.unfreeze_step
    return replace(frozen, lines=lines, unfreeze_step=step, unfrozen=unfrozen)


def _training_data(task, splits, tokenizer, setting, examples) -> TrainingData:
    """Data of `CaptionExamples` by split."""
    picture_format, fit = task.pictures.picture_format(), setting.fit
    changes = {"train": task.pictures.augmentation(fit.seed), "dev": None}
    batches = {
        name: caption_batches(
            own, splits[name], picture_format, fit.batch_size, changes[name], fit.seed
        )
        for name, own in examples.items()
    }
    cut = examples["train"].cut
    lines = task.pieces.notes(tokenizer=tokenizer) if task.vocabulary == LEARNED else []
    if cut:
        lines.append(f"{cut} training captions are longer than {task.lengths[-1]} pieces: cut")
    return TrainingData(
        splits=splits,
        training=batches["train"].training,
        dev=batches["dev"].dataset(),
        steps=batches["train"].steps,
        lines=lines,
        extra=CaptionFeatures(tokenizer, examples["dev"].encoded),
    )


def _encoded(task, splits, setting):
    """Cached features of the pictures that a frozen encoder reads without augmentation, by split.

    With augmentation and an encoder that never trains, only dev is cached.
    """
    size, tuning = task.pictures.image_size, setting.model.tuning
    keras.utils.set_random_seed(setting.fit.seed)  # An encoder from scratch is the model's own.
    encoder = setting.model.encoder.build(size) if setting.start is None else setting.start.encoder
    if not encoder.built:
        encoder.build((None, size, size, 3))
    trainable, encoder.trainable = encoder.trainable, False
    folder = setting.cache or user_cache() / "features"
    names = ("dev",) if task.pictures.changes and not tuning.fine_tune else ("train", "dev")
    picture_format = task.pictures.picture_format()
    features = {
        name: cached_features(splits[name], encoder, picture_format, folder) for name in names
    }
    encoder.trainable = trainable
    return features


def contexts(
    records: Sequence[CaptionedPicture],
    picture_format: PictureFormat,
    size: int,
    encoded: np.ndarray | None = None,
) -> tf.data.Dataset:
    """A data set of contexts for `Stepper.start`: pictures or features, each record once.

    Batches are (size, ...), in record order; the last one is padded with zeros.
    """
    count = -(-len(records) // size) * size
    if encoded is None:
        paths = [str(record.path) for record in records] + [""] * (count - len(records))
        batches = tf.data.Dataset.from_tensor_slices(paths).batch(size, drop_remainder=True)
        return ahead(
            batches.map(
                lambda paths: read_pictures(paths, picture_format), num_parallel_calls=BATCHES
            )
        )

    def gather(rows):
        padded = np.zeros((len(rows), *encoded.shape[1:]), encoded.dtype)
        inside = rows[rows < len(encoded)]
        padded[: len(inside)] = encoded[inside]
        return padded

    def read(rows):
        features = tf.numpy_function(gather, [rows], encoded.dtype, stateful=False)
        return tf.ensure_shape(features, (size, *encoded.shape[1:]))

    return ahead(tf.data.Dataset.range(count).batch(size).map(read))
