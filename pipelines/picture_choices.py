"""What recipes have in common whose records are pictures of a folder."""

import abc
from dataclasses import dataclass

from keras_attn.images.picture_format import FITS, PictureFormat
from pipelines.augmentation import Augmentation
from pipelines.picture_folder import PictureFolder
from pipelines.readers.record import AUTO
from pipelines.recipe import Recipe, option
from pipelines.records import data_folder, listed_pictures


@dataclass(frozen=True, kw_only=True)
class PictureChoices(Recipe):
    """Abstract: a recipe that reads pictures.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    unit = "pictures"
    chosen = {"fit": FITS}

    image_column: str = option(AUTO, "column or key with the picture's name")
    image_folder: str = option("images", "folder of the pictures, inside the data folder")
    image_size: int = option(224, "height and width of the picture in pixels")
    fit: str = option("squash", "squash (change the aspect ratio) or crop (cut the center)")
    flip: bool = option(False, "mirror one training picture in two, left and right")
    crop: float = option(1.0, "least share of height and width that training sees; 1: all")

    def picture_format(self):
        """`PictureFormat` of training and serving."""
        return PictureFormat(self.image_size, self.image_size, self.fit)

    def augmentation(self) -> Augmentation | None:
        """How training changes pictures, or None where it does not."""
        if self.flip or self.crop < 1:
            return Augmentation(self.flip, self.crop, self.seed)
        return None

    @abc.abstractmethod
    def found(self, data) -> PictureFolder:
        """What there is of pictures in a data folder.

        Raises:
            ValueError: more unusable records than `tolerance`.
        """

    @abc.abstractmethod
    def split(self, data, found: PictureFolder) -> dict[str, list]:
        """What was found, as lists of pictures by the names of their splits."""

    def read(self, data):
        """Reads and splits a data folder, or a file of pictures' names.

        Returns:
            splits: dict of lists of pictures.
            skipped: list of `Skipped`.

        Raises:
            ValueError: more unusable records than `tolerance`.
        """
        found = self.found(data)
        return self.split(data, found), found.skipped

    def records(self, data, split):
        """See `Recipe`: also those of a split file of another name."""
        found = self.found(data)
        splits = self.split(data, found)
        if split not in splits:
            path = data_folder(data) / f"{split}.txt"
            splits[split] = listed_pictures(path, found.pictures, found.unusable)
        if not splits[split]:
            raise ValueError(f"Expected pictures in the split {split!r} of {data}. Received: none")
        return splits[split]

    def asked(self, record):
        """See `Recipe`."""
        return str(record.path), record.path.read_bytes()
