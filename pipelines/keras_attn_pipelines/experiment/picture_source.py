"""A source of pictures, the base of those with captions or labels."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from keras_attn_pipelines.experiment.split_shares import SplitShares

if TYPE_CHECKING:
    from keras_attn_pipelines.data.picture_folder import PictureFolder


class PictureSource:
    """Abstract: a `Source` of pictures; subclasses say how they are found and read."""

    shares: SplitShares

    def read(self, data) -> Any:
        """See `Source`."""
        from keras_attn_pipelines.data.picture_splits import picture_records

        return picture_records(data, self._checked(data), self._split())

    def split(self, data, name) -> Any:
        """See `Source`: also the pictures of a split file of another name."""
        from keras_attn_pipelines.data.picture_splits import named_split

        return named_split(data, self._checked(data), self._split(), name)

    def _checked(self, data) -> "PictureFolder":
        folder = self._folder(data)
        folder.check(self.shares.tolerance)
        return folder

    def _split(self) -> Callable[..., dict[str, list]]:
        from keras_attn_pipelines.data.picture_splits import split_pictures

        shares = self.shares
        return functools.partial(
            split_pictures, dev_share=shares.dev_share, test_share=shares.test_share
        )

    def _folder(self, data) -> "PictureFolder":
        """The pictures of some data."""
        raise NotImplementedError
