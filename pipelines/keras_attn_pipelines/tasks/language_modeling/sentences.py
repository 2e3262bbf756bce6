"""The source of sentences."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.split_source import SplitSource


@part
class Sentences(SplitSource):
    """Text files with a sentence on each line, named for their splits; or one such file."""

    unit: ClassVar[str] = "sentences"
    records: ClassVar[str] = "sentences"

    suffix: str = option("suffix of the files, such as en", default="txt")
    shares: SplitShares = SplitShares()

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.readers.sentence_reader import Sentence

        return Sentence

    def _splits(self, data):
        from keras_attn_pipelines.data.file_splits import FileSplits
        from keras_attn_pipelines.data.readers.sentence_reader import sentence_files

        files = sentence_files(data, self.suffix)
        return FileSplits(files, *astuple(self.shares), unit="sentence")
