"""The source of captioned pictures."""

import functools
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares

AUTO = "auto"


@part
class CaptionedPictures:
    """A folder of pictures with a caption file, or a data set of tensorflow-datasets."""

    unit: ClassVar[str] = "pictures"
    records: ClassVar[str] = "captioned pictures"

    captions_file: str = option("captions file; auto: the only one in the folder", default=AUTO)
    caption_column: str = option("column or key of the caption", default=AUTO)
    image_column: str = option("column or key of the picture's file name", default=AUTO)
    image_folder: str = option("picture folder inside the data folder", default="images")
    shares: SplitShares = SplitShares()

    def find(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.readers.folder_reader import captions_found
        from keras_attn_pipelines.data.record import Columns

        columns = Columns(self.image_column, self.caption_column)
        captions_found(data, self.captions_file, columns, self.image_folder)

    def read(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_splits import picture_records

        return picture_records(data, self._read(data), self._split, "captions")

    def split(self, data, name):
        """See `Source`: also the pictures of a split file of another name."""
        from keras_attn_pipelines.data.picture_splits import named_split

        return named_split(data, self._read(data), self._split, name)

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_folder import CaptionedPicture

        return CaptionedPicture

    def _read(self, data):
        from keras_attn_pipelines.data.readers.folder_reader import read_captions

        columns = (self.captions_file, self.image_column, self.caption_column, self.image_folder)
        folder = read_captions(data, *columns)
        folder.check(self.shares.tolerance)
        return folder

    @property
    def _split(self):
        from keras_attn_pipelines.data.picture_splits import split_pictures

        shares = {"dev_share": self.shares.dev_share, "test_share": self.shares.test_share}
        return functools.partial(split_pictures, **shares)
