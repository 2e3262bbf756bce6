"""The source of sets of facts with texts."""

from dataclasses import astuple
from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.split_source import SplitSource

AUTO = "auto"


@part
class SetsOfFacts(SplitSource):
    """JSON lines, CSV or TSV with a header, WebNLG XML, or a data set of tensorflow-datasets."""

    unit: ClassVar[str] = "sets of facts"
    records: ClassVar[str] = "facts with texts"

    text_column: str = option("column or key of the text", default=AUTO)
    language: str = option(
        "language of the texts, where they name theirs; auto: the only one", default=AUTO
    )
    shares: SplitShares = SplitShares()

    def record_type(self):
        """See `Source`."""
        from keras_attn_pipelines.data.facts import FactSet

        return FactSet

    def _splits(self, data):
        from keras_attn_pipelines.data.file_splits import FileSplits
        from keras_attn_pipelines.data.readers.fact_reader import fact_sources

        return FileSplits(
            fact_sources(data, self.text_column, self.language), *astuple(self.shares), "set"
        )
