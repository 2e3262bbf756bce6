"""The source of captioned pictures."""

from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.picture_source import PictureSource
from keras_attn_pipelines.experiment.split_shares import SplitShares

AUTO = "auto"


@part
class CaptionedPictures(PictureSource):
    """A folder of pictures with a caption file, or a data set of tensorflow-datasets."""

    unit: ClassVar[str] = "pictures"
    records: ClassVar[str] = "captioned pictures"

    captions_file: str = option("captions file; auto: the only one in the folder", default=AUTO)
    caption_column: str = option("column or key of the caption", default=AUTO)
    image_column: str = option("column or key of the picture's file name", default=AUTO)
    image_folder: str = option("picture folder inside the data folder", default="images")
    language: str = option(
        "language of the captions, where records name theirs; auto: the only one", default=AUTO
    )
    shares: SplitShares = SplitShares()

    def find(self, data):
        """See `Source`."""
        from keras_attn_pipelines.data.columns import Columns
        from keras_attn_pipelines.data.readers.picture_kinds import CAPTIONED
        from keras_attn_pipelines.data.readers.picture_reader import find_pictures

        columns = Columns(self.image_column, self.caption_column)
        find_pictures(data, CAPTIONED, self.captions_file, columns, self.image_folder)

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.picture_folder import CaptionedPicture

        return CaptionedPicture

    def _folder(self, data):
        from keras_attn_pipelines.data.readers.picture_kinds import read_captions

        columns = (self.captions_file, self.image_column, self.caption_column, self.image_folder)
        return read_captions(data, *columns, self.language)
