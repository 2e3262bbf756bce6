"""Picture size and augmentation, a part inside tasks."""

from keras_attn_pipelines.experiment.fields import option, part

MOST_PIXELS_A_SIDE = 4096


@part
class PictureOptions:
    """Size of a model's input pictures, and random augmentation in training."""

    image_size: int = option(
        "height and width to which pictures are resized, in pixels",
        default=224,
        settled=True,
        least=1,
        most=MOST_PIXELS_A_SIDE,
    )
    fit: str = option(
        "how to make pictures square: stretch them, or cut out the center",
        default="squash",
        settled=True,
        choices=("squash", "crop"),
    )
    flip: bool = option("mirror half of the training pictures horizontally", default=False)
    crop: float = option(
        "smallest fraction of height and width kept by random crops; 1: no cropping",
        default=1.0,
        above=0,
        most=1,
    )
    shift: float = option(
        "largest random shift of a training picture, as a fraction of its size",
        default=0.0,
        least=0,
        below=1,
    )
    turn: float = option(
        "largest random rotation of a training picture, in degrees", default=0.0, least=0, most=180
    )

    @property
    def changes(self) -> bool:
        """Whether training augments pictures."""
        return self.flip or self.crop < 1 or self.shift > 0 or self.turn > 0

    def picture_format(self, **limits):
        """`PictureFormat` of training and serving.

        Args:
            limits: other limits than the defaults.
        """
        from keras_attn.images.picture_format import PictureFormat

        return PictureFormat(self.image_size, self.image_size, self.fit, **limits)

    def augmentation(self, seed: int):
        """`Augmentation` for training, or None."""
        from keras_attn_pipelines.data.augmentation import Augmentation

        if not self.changes:
            return None
        return Augmentation(self.flip, self.crop, seed, self.shift, self.turn)
