"""The source of labeled pictures."""

import functools
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares

AUTO = "auto"


@part
class LabeledPictures:
    """A labels file, or a folder per class."""

    unit: ClassVar[str] = "pictures"
    records: ClassVar[str] = "labeled pictures"

    labels_file: str = option(
        "labels file; auto: the only one in the folder, or class folders", default=AUTO
    )
    label_column: str = option("column or key of the label", default=AUTO)
    image_column: str = option("column or key of the picture's file name", default=AUTO)
    image_folder: str = option("picture folder inside the data folder", default="images")
    shares: SplitShares = SplitShares()

    def find(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.readers.label_reader import labels_found
        from keras_attn_pipelines.data.record import LABELS, Columns

        columns = Columns(self.image_column, self.label_column, LABELS)
        labels_found(data, self.labels_file, columns, self.image_folder)

    def read(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_splits import picture_records

        return picture_records(data, self._read(data), self._split, "labels")

    def split(self, data, name):
        """See `Source`: also the pictures of a split file of another name."""
        from keras_attn_pipelines.data.picture_splits import named_split

        return named_split(data, self._read(data), self._split, name)

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_folder import LabeledPicture

        return LabeledPicture

    def _read(self, data):
        from keras_attn_pipelines.data.readers.label_reader import read_labels

        columns = (self.labels_file, self.image_column, self.label_column, self.image_folder)
        folder = read_labels(data, *columns)
        folder.check(self.shares.tolerance)
        return folder

    @property
    def _split(self):
        from keras_attn_pipelines.data.picture_splits import split_labeled

        shares = {"dev_share": self.shares.dev_share, "test_share": self.shares.test_share}
        return functools.partial(split_labeled, **shares)
