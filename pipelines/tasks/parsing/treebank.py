"""The source of bracketed trees."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import part
from keras_attn_pipelines.experiment.split_shares import SplitShares


@part
class Treebank:
    """Bracketed trees in the style of the Penn Treebank."""

    unit: ClassVar[str] = "pairs"
    records: ClassVar[str] = "trees"

    shares: SplitShares = SplitShares()

    def find(self, data):
        """See `Source`."""
        self._splits(data)

    def read(self, data):
        """See `Source`."""
        return self._splits(data).training()

    def split(self, data, name):
        """See `Source`."""
        return self._splits(data).pairs(name)

    def _splits(self, data):
        from keras_attn_pipelines.data.pair_splits import PairSplits
        from keras_attn_pipelines.data.readers.tree_reader import tree_sources

        return PairSplits(tree_sources(data), *astuple(self.shares))
