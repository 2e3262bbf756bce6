"""The source of labeled pictures."""

from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.picture_source import PictureSource
from keras_attn_pipelines.experiment.split_shares import SplitShares

AUTO = "auto"


@part
class LabeledPictures(PictureSource):
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
        from keras_attn_pipelines.data.columns import LABELS, Columns
        from keras_attn_pipelines.data.readers.picture_kinds import LABELED
        from keras_attn_pipelines.data.readers.picture_reader import find_pictures

        columns = Columns(self.image_column, self.label_column, LABELS)
        find_pictures(data, LABELED, self.labels_file, columns, self.image_folder)

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_folder import LabeledPicture

        return LabeledPicture

    def _folder(self, data):
        from keras_attn_pipelines.data.readers.picture_kinds import read_labels

        columns = (self.labels_file, self.image_column, self.label_column, self.image_folder)
        return read_labels(data, *columns)
