"""The recipe for distorted digits: what can be chosen, and data and model made from it."""

from dataclasses import dataclass
from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from keras_attn.images.picture_format import PictureFormat
from keras_attn.layers.spatial_softmax import SpatialSoftmax
from pipelines.digit_data import DigitBatches, DigitData, DigitPicture, read_digits
from pipelines.digit_distortions import DIGIT, Bent, Cluttered, Projected, Turned
from pipelines.labeling import in_words
from pipelines.recipe import LABEL_TABLE, option
from pipelines.spatial_transforming import OF_TRANSFORMS, SpatialTransforming

DISTORTIONS = {
    "rotation": Turned(),
    "rotation_scale_translation": Turned(size=42, degrees=45.0, scales=(0.7, 1.2)),
    "projective": Projected(),
    "elastic": Bent(),
    "cluttered": Cluttered(),
}
FIXED_SEED = 1506_02025
"""Of the distortions of dev and test, which are the same in every training."""
FEATURES, PLACES = "features", "places"
FILMED = 8
LEAST_READ, MOST_READ = 24, 256
"""Pixels a side that the CNN takes."""


@dataclass(frozen=True, kw_only=True)
class DigitsRecipe(SpatialTransforming):
    """Digits distorted anew in each epoch. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "digits"
    unit = "digits"
    grayscale = True
    chosen: ClassVar = {"distortion": tuple(DISTORTIONS), "chooses_by": (FEATURES, PLACES)}
    settled: ClassVar[tuple[str, ...]] = (*SpatialTransforming.settled, "distortion", "chooses_by")

    distortion: str = option("rotation", f"of the digits: {', '.join(DISTORTIONS)}")
    transforms: tuple[str, ...] = option(("thin_plate_spline",), OF_TRANSFORMS)
    chooses_by: str = option(
        FEATURES, f"what a transformer chooses by: {FEATURES}, or {PLACES} of features, for clutter"
    )
    batch_size: int = option(128, "digits in a batch, over all devices")
    dev_share: float = option(1 / 12, "share of the training digits, the last, for dev")
    dropout: float = option(0.0, "dropout probability")
    test_share: float = option(0.0, "of no effect: the file has test digits of its own")

    def __post_init__(self):
        super().__post_init__()
        count = len(self.transforms)
        least = LEAST_READ if count == 1 else DIGIT
        if not least <= self.read_size <= MOST_READ:
            raise ValueError(
                f"Expected read_size {least} to {MOST_READ} with {count} in transforms. "
                f"Received: read_size={self.read_size}"
            )

    def distort(self):
        """What distorts digits."""
        return DISTORTIONS[self.distortion]

    def picture_format(self):
        """See `SpatialTransforming`."""
        return PictureFormat(self.distort().size, self.distort().size)

    def encoder(self, size):
        """See `SpatialTransforming`."""
        return keras.Sequential(
            [
                keras.layers.Conv2D(self.filters, 9, activation="relu"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(self.filters, 7, activation="relu"),
                keras.layers.MaxPooling2D(2),
            ],
            name="encoder",
        )

    def localization(self, size):
        """See `SpatialTransforming`."""
        if self.chooses_by == PLACES:
            return keras.Sequential(
                [
                    keras.layers.AveragePooling2D(2),
                    keras.layers.Conv2D(20, 5, activation="relu"),
                    keras.layers.MaxPooling2D(2),
                    keras.layers.Conv2D(20, 5),
                    SpatialSoftmax(),
                ]
            )
        return keras.Sequential(
            [
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(20, 5, activation="relu"),
                keras.layers.MaxPooling2D(2),
                keras.layers.Conv2D(20, 5 if size <= DIGIT else 3, activation="relu"),
                *([keras.layers.MaxPooling2D(2)] if size > DIGIT else []),
                keras.layers.Flatten(),
                keras.layers.Dense(20, activation="relu"),
            ]
        )

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`; there is nothing to cache."""
        return DigitData.load(self, data, source.tokenizers[LABEL_TABLE] if source else None)

    def batches(self, labels):
        """`DigitBatches` with the recipe's shapes."""
        return DigitBatches(labels, self.distort(), self.batch_size, self.seed, FIXED_SEED)

    def records(self, data, split):
        """See `Recipe`: of dev and test always the same distortions."""
        found = read_digits(data, self.dev_share)
        if not len(found.get(split, ())):
            known = in_words([name for name, digits in found.items() if len(digits)])
            raise ValueError(f"Expected a split of {known} with digits. Received: {split!r}")
        batches = self.batches(None)
        pictures = np.concatenate(list(batches.fixed(found[split])))
        return [
            DigitPicture(f"{split}/{place}", label, picture)
            for place, (label, picture) in enumerate(zip(found[split].labels, pictures))
        ]

    def asked(self, record):
        """See `Recipe`."""
        return record.name, tf.io.encode_png(record.picture[..., :1]).numpy()

    def shown(self, data):
        """See `SpatialTransforming`."""
        return next(data.batches.fixed(data.splits["dev"]))[:FILMED]
