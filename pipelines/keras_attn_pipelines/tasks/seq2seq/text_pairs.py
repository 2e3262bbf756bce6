"""The source of pairs of texts."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.split_source import SplitSource

AUTO = "auto"


@part
class TextPairs(SplitSource):
    """Parallel files, CSV, TSV or JSON lines, or a data set of tensorflow-datasets."""

    unit: ClassVar[str] = "pairs"
    records: ClassVar[str] = "pairs of texts"

    source_column: str = option("source language suffix, column or key", default=AUTO)
    target_column: str = option("target language suffix, column or key", default=AUTO)
    header: bool | None = option(
        "whether tables have a header (default: if the first row has known names)", default=None
    )
    columns: tuple[int, ...] = option(
        "columns of source and target in tables without a header, from 1 (default: the first two "
        "with texts)",
        default=(),
        least=1,
    )
    language: str = option(
        "language of the pairs (en-de) where records name theirs; auto: the only one",
        default=AUTO,
    )
    shares: SplitShares = SplitShares()

    def check(self):
        """Raises ValueError for columns that are not two different ones."""
        if self.columns and (len(self.columns) != 2 or len(set(self.columns)) != 2):
            raise ValueError(
                f"Expected two different columns, such as 1 2. Received: columns={self.columns}"
            )

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.pairs import TextPair

        return TextPair

    def _splits(self, data):
        from keras_attn_pipelines.data.file_splits import FileSplits
        from keras_attn_pipelines.data.readers.pair_reader import pair_sources

        columns = (self.source_column, self.target_column, self.header, self.columns, self.language)
        sources = pair_sources(data, *columns)
        return FileSplits(sources, *astuple(self.shares))
