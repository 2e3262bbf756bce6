"""The recipe for labeled pictures behind spatial transformers: its choices and its model."""

from dataclasses import dataclass
from typing import ClassVar

import keras
import numpy as np
import tensorflow as tf

from keras_attn.models.efficientnet_lite0_encoder import EfficientNetLite0Encoder
from keras_attn.models.small_conv_encoder import SmallConvEncoder
from pipelines.labeled_pictures import LabeledPictures
from pipelines.picture_choices import PictureChoices
from pipelines.recipe import option
from pipelines.spatial_transforming import SpatialTransforming

SMALL, LITE0 = "small", "efficientnet_lite0"
LOOK = 32
"""Pixels a side that a transformer chooses by, about."""
FILMED = 8


@dataclass(frozen=True, kw_only=True)
class TransformedPictures(SpatialTransforming, LabeledPictures):
    """Labeled pictures of any size. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "spatial_transformer"
    grayscale = False
    chosen: ClassVar = {**PictureChoices.chosen, "backbone": (SMALL, LITE0)}
    settled: ClassVar[tuple[str, ...]] = (
        *SpatialTransforming.settled,
        "image_size",
        "fit",
        "backbone",
    )

    backbone: str = option(
        SMALL, f"the CNN: {SMALL}, from scratch, or {LITE0}, with weights of ImageNet"
    )
    fine_tune: bool = option(False, f"train the weights of {LITE0} too")

    picture_format = PictureChoices.picture_format

    def __post_init__(self):
        super().__post_init__()
        if self.image_size < 2:
            raise ValueError(f"Expected image_size >= 2. Received: image_size={self.image_size}")

    def encoder(self, size):
        """See `SpatialTransforming`."""
        if self.backbone == LITE0:
            backbone = EfficientNetLite0Encoder()
            backbone.trainable = self.fine_tune
        else:
            widths = (self.filters, 2 * self.filters, 4 * self.filters)
            backbone = SmallConvEncoder(widths, (2, 2, 2), coordinates=False)
        pool = keras.layers.GlobalAveragePooling2D()
        return keras.Sequential([keras.layers.Rescaling(255.0), backbone, pool], name="encoder")

    def localization(self, size):
        """See `SpatialTransforming`."""
        coarser = max(size // LOOK, 1)
        return keras.Sequential(
            [
                keras.layers.AveragePooling2D(coarser, padding="same"),
                keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu"),
                keras.layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(32, activation="relu"),
            ]
        )

    def shown(self, data):
        """See `SpatialTransforming`."""
        records = data.splits["dev"]
        places = np.unique(np.linspace(0, len(records) - 1, FILMED).astype(int))
        read = tf.constant([records[place].path.read_bytes() for place in places])
        return self.picture_format().decode_batch(read)[0].numpy()
