"""What recipes have in common whose models look at pictures through spatial transformers."""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

import keras
import numpy as np

from keras_attn.images.picture_format import PictureFormat
from keras_attn.layers.spatial_transformer import SpatialTransformer
from keras_attn.layers.transforms import (
    Affine,
    AttentionWindow,
    Projective,
    Similarity,
    ThinPlateSpline,
    Transform,
    Translation,
)
from keras_attn.models.spatial_transformer_classifier import SpatialTransformerClassifier
from keras_attn.serving.spatial_transformer_service import SpatialTransformerService
from keras_attn.training.optimizers import ClippedAdam
from pipelines.labeling import LabelingRecipe, check_no_beam, in_words
from pipelines.recipe import LABEL_TABLE, option
from pipelines.transformer_film import TransformerFilm

NONE = "none"
TRANSFORMS: Mapping[str, Callable[[], Transform]] = {
    "translation": Translation,
    "attention": AttentionWindow,
    "similarity": Similarity,
    "affine": Affine,
    "projective": Projective,
    "thin_plate_spline": ThinPlateSpline,
}
OF_TRANSFORMS = f"of the transformers, in series: {', '.join(TRANSFORMS)}; or none"


@dataclass(frozen=True, kw_only=True)
class SpatialTransforming(LabelingRecipe):
    """Abstract: a classifier behind spatial transformers in series.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    settled: ClassVar[tuple[str, ...]] = ("transforms", "read_size", "bound", "filters")
    grayscale: ClassVar[bool]
    """Whether the model sees luminance alone."""

    transforms: tuple[str, ...] = option(("affine",), OF_TRANSFORMS)
    read_size: int = option(28, "height and width in pixels of what a transformer reads")
    transformer_rate: float = option(1.0, "learning rate of transformers, as a share of the rest's")
    bound: float | None = option(None, "how far a number of theta may be from the identity's")
    filters: int = option(32, "filters of the first convolution")
    label_smoothing: float = option(0.0, "probability spread over all answers")

    def __post_init__(self):
        super().__post_init__()
        unknown = [one for one in self.transforms if one not in TRANSFORMS]
        if not self.transforms or (unknown and self.transforms != (NONE,)):
            raise ValueError(
                f"Expected transforms of {', '.join(TRANSFORMS)}, or none alone. "
                f"Received: transforms={' '.join(self.transforms) or '()'}"
            )

    def optimizer(self, model, steps):
        """See `Recipe`."""
        slow = {"slow_rate": self.transformer_rate}
        slow["slow_layer"] = [one.name for one in model.transformers]
        return ClippedAdam(self.rates(steps), self.clip_norm, **slow)

    @abc.abstractmethod
    def picture_format(self) -> PictureFormat:
        """Of training and serving."""

    @abc.abstractmethod
    def encoder(self, size: int):
        """The CNN behind the transformers, for pictures of `size` pixels a side."""

    @abc.abstractmethod
    def localization(self, size: int):
        """What a transformer chooses by, for pictures of `size` pixels a side."""

    def model(self, classes):
        """A built `SpatialTransformerClassifier`."""
        keras.utils.set_random_seed(self.seed)
        pictures = self.picture_format()
        size, transformers = pictures.height, []
        for name in self.transforms if self.transforms != (NONE,) else ():
            transformers.append(
                SpatialTransformer(
                    self.localization(size),
                    TRANSFORMS[name](),
                    (self.read_size, self.read_size),
                    bound=self.bound,
                    return_grid=True,
                    data_format="channels_last",
                    name=f"transformer_{len(transformers) + 1}",
                )
            )
            size = self.read_size
        model = SpatialTransformerClassifier(
            transformers,
            self.encoder(size),
            classes,
            self.dropout,
            self.grayscale,
            name="classifier",
        )
        model.build((None, pictures.height, pictures.width, 3))
        return model

    def service(self, model, tokenizers, beam_width=None, n_best=1):
        """See `Recipe`."""
        check_no_beam(beam_width)
        return SpatialTransformerService(
            model, tokenizers[LABEL_TABLE], self.picture_format(), n_best
        )

    @abc.abstractmethod
    def shown(self, data) -> np.ndarray:
        """Pictures of dev for the film of a training, uint8 (B, height, width, 3)."""

    def pictures(self, model, data, folder):
        """See `Recipe`: how the transformers learn to read, as a film."""
        return [TransformerFilm(self.shown(data), folder)] if model.transformers else []

    def card(self, service) -> dict[str, Any]:
        """See `Recipe`."""
        pictures, read = service.picture_format, service.model.transformers
        behind = f" behind spatial transformers ({', '.join(self.transforms)})" if read else ""
        crop = (
            ", crop (what the CNN saw, uint8, RGB). `explain`: also picture (what the transformers "
            "saw), grid (where in it each pixel of crop was read, x and y from −1 to 1)"
        )
        return {
            "What it does": f"Tells which of its labels a picture has: a CNN{behind}, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}. "
            f"Labels: {in_words(service.labels.labels)}.",
            "Service": "Signature `serving_default`: image (encoded bytes) to labels, scores "
            f"(probabilities), error{crop if read else ''}. Pictures are fitted to "
            f"{pictures.height}×{pictures.width} by {pictures.fit}.",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on, and of the pretrained CNN where there is one.",
        }
