"""The source of bracketed trees."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import part
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.split_source import SplitSource


@part
class Treebank(SplitSource):
    """Bracketed trees in the style of the Penn Treebank."""

    unit: ClassVar[str] = "pairs"
    records: ClassVar[str] = "trees"

    shares: SplitShares = SplitShares()

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.readers.tree_reader import TreePair

        return TreePair

    def _splits(self, data):
        from keras_attn_pipelines.data.file_splits import FileSplits
        from keras_attn_pipelines.data.readers.tree_reader import tree_sources

        return FileSplits(tree_sources(data), *astuple(self.shares))
