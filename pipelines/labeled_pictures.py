"""What recipes have in common that learn from labeled pictures of a folder."""

from dataclasses import dataclass

from pipelines.class_batches import ClassBatches
from pipelines.class_data import ClassData
from pipelines.labeling import LabelingRecipe
from pipelines.picture_choices import PictureChoices
from pipelines.readers.record import AUTO
from pipelines.recipe import LABEL_TABLE, option
from pipelines.records import read_labels, split_labeled


@dataclass(frozen=True, kw_only=True)
class LabeledPictures(LabelingRecipe, PictureChoices):
    """Abstract: a recipe for a classifier of the pictures of a folder.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    labels_file: str = option(AUTO, "file of labels; auto takes the one there is, or class folders")
    label_column: str = option(AUTO, "column or key with the label")

    def found(self, data):
        """See `PictureChoices`."""
        columns = (self.labels_file, self.image_column, self.label_column, self.image_folder)
        found = read_labels(data, *columns)
        if self.labels_file == AUTO:
            print(f"labels: {found.source} ({found.form})")
        found.check(self.tolerance)
        return found

    def split(self, data, found):
        """See `PictureChoices`."""
        return split_labeled(data, found, self.dev_share, self.test_share)

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`; there is nothing to cache."""
        return ClassData.load(self, data, source.tokenizers[LABEL_TABLE] if source else None)

    def batches(self, labels):
        """`ClassBatches` with the recipe's shapes."""
        size, changes = self.batch_size, self.augmentation()
        return ClassBatches(labels, self.picture_format(), size, changes, self.seed)
