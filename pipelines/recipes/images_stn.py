"""Pictures told apart by a CNN that looks at them through spatial transformers.

Command:
    keras-attn train images_stn --data my_classes --out runs/classes
    keras-attn train images_stn --data my_classes --transforms affine thin_plate_spline --out …

Pictures may have any sizes; the transformers see them at `--image-size`, the CNN what they read of
them, at `--read-size`. `--backbone efficientnet_lite0` begins with weights of ImageNet, which a few
hundred pictures want; `--transforms none` is the CNN alone. The SavedModel answers bytes with
labels, scores and what the CNN saw.
"""

from dataclasses import dataclass

from pipelines.transformed_pictures import TransformedPictures, option


@dataclass(frozen=True, kw_only=True)
class ImagesSpatialTransformer(TransformedPictures):
    """A small CNN from scratch behind an affine map."""

    image_size: int = option(128, "height and width in pixels of what the transformers see")
    bound: float | None = option(0.5, "how far a number of theta may be from the identity's")
    transformer_rate: float = option(0.1, "learning rate of transformers, as a share of the rest's")
    read_size: int = option(64, "height and width in pixels of what a transformer reads")
    dropout: float = option(0.1, "dropout probability")
    epochs: int = option(20, "passes over the training pictures")
    patience: int = option(5, "epochs without a better metric before training stops")


RECIPE = ImagesSpatialTransformer
