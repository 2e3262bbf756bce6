"""Picture size and augmentation, a part inside tasks."""

from keras_attn_pipelines.experiment.fields import option, part

MOST_PIXELS_A_SIDE = 4096
CHECKPOINT, FLAGS = PREPROCESSING = ("checkpoint", "flags")
"""What pictures for a pretrained encoder must be like."""


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
        "how to make pictures square: stretch them, cut out the center, or resize the shorter "
        "edge, then cut out the center",
        default="squash",
        settled=True,
        choices=("squash", "crop", "shortest_edge"),
    )
    interpolation: str = option(
        "how to interpolate between pixels when resizing",
        default="bilinear",
        settled=True,
        choices=("bilinear", "bicubic"),
    )
    resized_edge: int = option(
        "shorter edge of pictures after resizing, in pixels, of which the center of image_size is "
        "cut out; 0: image_size",
        default=0,
        settled=True,
        least=0,
        most=MOST_PIXELS_A_SIDE,
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
    color: float = option(
        "largest random change of brightness, contrast and saturation of a training picture, as a "
        "fraction",
        default=0.0,
        least=0,
        below=1,
    )

    def check(self):
        """Raises ValueError if the resized picture is smaller than the input picture."""
        if 0 < self.resized_edge < self.image_size:
            raise ValueError(
                f"Expected resized_edge >= image_size={self.image_size}, or 0. "
                f"Received: resized_edge={self.resized_edge}"
            )

    @property
    def changes(self) -> bool:
        """Whether training augments pictures."""
        return self.flip or self.crop < 1 or self.shift > 0 or self.turn > 0 or self.color > 0

    def picture_format(self, **limits):
        """`PictureFormat` of training and serving.

        Args:
            limits: other limits than the defaults.
        """
        from keras_attn.images.picture_format import PictureFormat

        return PictureFormat(
            self.image_size,
            self.image_size,
            self.fit,
            interpolation=self.interpolation,
            resized_edge=None
            if self.resized_edge == self.image_size
            else self.resized_edge or None,
            **limits,
        )

    def check_checkpoint(self, source: str) -> None:
        """Raises ValueError unless pictures are as a checkpoint's own preprocessing makes them.

        Args:
            source: of the checkpoint, see `load_picture_format`.
        """
        from keras_attn.pretrained.vision_transformer import load_picture_format

        expected, chosen = load_picture_format(source), self.picture_format()
        if expected is None or expected == chosen:
            return
        raise ValueError(
            f"Expected pictures as preprocessor_config.json of {source!r} has them: "
            f"{_flags(expected)}; or --preprocessing {FLAGS} to take them as the flags say. "
            f"Received: {_flags(chosen)}"
        )

    def augmentation(self, seed: int):
        """`Augmentation` for training, or None."""
        from keras_attn_pipelines.data.augmentation import Augmentation

        if not self.changes:
            return None
        return Augmentation(self.flip, self.crop, seed, self.shift, self.turn, self.color)


def _flags(picture_format):
    """The flags of a `PictureFormat`; its size where no flag can say it."""
    height, width = picture_format.height, picture_format.width
    size = f"--image-size {height}" if height == width else f"{height}×{width} pixels"
    edge = picture_format.resized_edge
    return (
        f"{size} --fit {picture_format.fit} --interpolation {picture_format.interpolation}"
        f"{f' --resized-edge {edge}' if edge else ''}"
    )
