"""Opens data: a folder, a file, archives, or a named data set."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.readers.archives import unpacked
from keras_attn_pipelines.data.readers.tfds_reader import is_tfds
from keras_attn_pipelines.data.record_file import RecordFile


class Opened(NamedTuple):
    """Where the records of some data are.

    Attributes:
        place: path of the folder, or of the file that was named.
        form: name of the layout of the archives that they come from; '' for none.
    """

    place: Path
    form: str = ""

    def naming(self, data, files: Mapping[str, RecordFile]) -> dict[str, RecordFile]:
        """Files of records, under the name of the archives that they come from, if they do."""
        if not self.form:
            return dict(files)
        return {
            stem: file._replace(path=Path(data), form=self.form) for stem, file in files.items()
        }


def opened(data, by_name: Callable[[str], Path], what: str) -> Opened:
    """Opens data; archives are unpacked and named data sets are written on first use.

    Args:
        data: path of a data folder, of a file of records or of an archive, or
            "tfds:NAME[/CONFIG]".
        by_name: function from the name of a data set to its folder, of `tfds_reader`.
        what: what the data hold, for errors.

    Raises:
        ValueError: no such file or folder; see `unpacked`; the data set has none of these records.
        ImportError: a package for them is not installed.
    """
    if is_tfds(data):
        return Opened(by_name(str(data)))
    if Path(data).suffix.lower() in PICTURE_SUFFIXES and Path(data).is_file():
        raise ValueError(
            f"Expected a data folder or a file of records. Received: {data}, a picture"
        )
    place = Opened(*(unpacked(data) or (Path(data),)))
    if not place.place.exists():
        raise ValueError(f"Expected {what} at {data}. Received: no such file or folder")
    return place
