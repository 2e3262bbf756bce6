"""The source of labeled texts."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.split_source import SplitSource

AUTO = "auto"


@part
class LabeledTexts(SplitSource):
    """CSV, TSV or JSON lines, a folder per class, or a data set of tensorflow-datasets."""

    unit: ClassVar[str] = "texts"
    records: ClassVar[str] = "labeled texts"

    text_column: str = option("column or key of the text", default=AUTO)
    label_column: str = option("column or key of the label", default=AUTO)
    language: str = option(
        "language of the texts, where records name theirs; auto: the only one", default=AUTO
    )
    shares: SplitShares = SplitShares()

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.pairs import TextPair

        return TextPair

    def _splits(self, data):
        from keras_attn_pipelines.data.file_splits import FileSplits
        from keras_attn_pipelines.data.readers.labeled_text_reader import labeled_texts

        sources = labeled_texts(data, self.text_column, self.label_column, self.language)
        return FileSplits(sources, *astuple(self.shares), unit="text")
