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
    shares: SplitShares = SplitShares()

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.pairs import TextPair

        return TextPair

    def _splits(self, data):
        from keras_attn_pipelines.data.pair_splits import PairSplits
        from keras_attn_pipelines.data.readers.pair_reader import pair_sources

        sources = pair_sources(data, self.source_column, self.target_column)
        return PairSplits(sources, *astuple(self.shares))
