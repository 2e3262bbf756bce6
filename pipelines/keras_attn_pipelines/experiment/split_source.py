"""Base of sources whose files name their splits."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_attn_pipelines.data.file_splits import FileSplits


class SplitSource:
    """Abstract: a `Source` of the records that `FileSplits` finds; subclasses say where."""

    def find(self, data) -> None:
        """See `Source`."""
        self._splits(data)

    def read(self, data) -> Any:
        """See `Source`."""
        return self._splits(data).training()

    def split(self, data, name) -> Any:
        """See `Source`."""
        return self._splits(data).pairs(name)

    def _splits(self, data) -> "FileSplits":
        """The splits of a data folder, or of another name."""
        raise NotImplementedError
