"""Everything that `fit` wants of labeled pictures: labels and batches."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from keras_attn.text.label_table import LabelTable
from pipelines.labeled_data import LabeledData
from pipelines.labeling import in_words
from pipelines.picture_check import naming_pictures
from pipelines.records import data_folder
from pipelines.skipped import Skipped

if TYPE_CHECKING:
    from pipelines.labeled_pictures import LabeledPictures


@dataclass(frozen=True)
class ClassData(LabeledData):
    """Everything that `fit` wants of labeled pictures.

    `batches` are `ClassBatches`, `splits` have `LabeledPicture`s; skipped are unusable records, and
    dev's pictures of other labels.

    Attributes:
        folder: path of the data folder.
    """

    folder: Path

    @classmethod
    def load(cls, recipe: "LabeledPictures", data, labels=None) -> "ClassData":
        """Reads labeled pictures, learns the labels and makes the data sets.

        Args:
            recipe: `LabeledPictures`.
            data: path of a folder or file.
            labels: `LabelTable`, to take one that exists instead of learning it.

        Raises:
            ValueError: as `LabeledPictures.read`; fewer than two labels; a label of train that
                is not among `labels`; no picture of dev with a label of train.
        """
        splits, skipped = recipe.read(data)
        found = sorted({one.label for one in splits["train"]})
        if labels is None and len(found) < 2:
            raise ValueError(f"Expected pictures of two labels or more. Received: {found}")
        labels = LabelTable(found) if labels is None else labels
        if strange := [one for one in found if labels.id_of(one) is None]:
            raise ValueError(
                f"Expected train to have labels of {in_words(labels.labels)} alone. "
                f"Received: {in_words(strange)}"
            )
        known = [one for one in splits["dev"] if labels.id_of(one.label) is not None]
        unknown = [one for one in splits["dev"] if labels.id_of(one.label) is None]
        if not known:
            raise ValueError(
                "Expected a picture of dev with a label of train. "
                f"Received: {in_words(sorted({one.label for one in unknown}))}"
            )
        reasons = [
            Skipped(one.path, 0, f"the label {one.label!r} of dev is not in train", one.name)
            for one in unknown
        ]
        batches = recipe.batches(labels)
        splits = {**splits, "dev": known}
        dev, steps = batches.dataset(known), batches.steps(splits["train"])
        folder = data_folder(data)
        return cls(labels, batches, splits, [*skipped, *reasons], dev, steps, folder)

    def naming_faults(self):
        """See `TrainingData`."""
        paths = [one.path for records in self.splits.values() for one in records]
        return naming_pictures(paths, self.folder)
