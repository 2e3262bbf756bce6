"""Opens data: a folder, a file, archives, or a named data set."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.readers.archives import unpacked
from keras_attn_pipelines.data.readers.tfds_reader import is_tfds
from keras_attn_pipelines.data.record_file import RecordFile
from keras_attn_pipelines.data.split_names import check_named_splits
from keras_attn_pipelines.data.text_lines import stem_of, suffix_of


class Opened(NamedTuple):
    """Where the records of some data are.

    Attributes:
        place: path of the folder, or of the file that was named.
        form: name of the layout of the archives that they come from; '' for none.
    """

    place: Path
    form: str = ""

    @property
    def folder(self) -> Path:
        """The folder: the place itself, or the one of the file."""
        return self.place.parent if self.place.is_file() else self.place

    @property
    def named(self) -> str:
        """Name of the file that was named; '' for none."""
        return self.place.name if self.place.is_file() else ""

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


def files_by_stem(data, suffixes: Sequence[str], what: str, wanted: str = "") -> dict[str, Path]:
    """The files of a data folder with given suffixes, each plain or .gz; hidden ones do not count.

    Args:
        data: path of the folder, or of one file of any name.
        suffixes: such as (".csv", ".tsv").
        what: what the files hold, for errors.
        wanted: what messages call the files, with {} for the folder; their suffixes if ''.

    Returns:
        dict from the stem of a file's name ("train") to its path; the plain file, if both exist.

    Raises:
        ValueError: nothing found, or two files with the same stem.
    """
    folder = Path(data)
    if folder.is_file():
        return {stem_of(folder): folder}
    if not folder.is_dir():
        raise ValueError(f"Expected {what} at {folder}. Received: no such file or folder")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), reverse=True):
        if path.name.startswith(".") or suffix_of(path) not in suffixes or not path.is_file():
            continue
        other = found.setdefault(stem_of(path), path)
        if suffix_of(other) != suffix_of(path):
            both = f"{path.name} and {other.name}"
            raise ValueError(f"Expected one file of each name in {folder}. Received: {both}")
        found[stem_of(path)] = check_inside(path, folder)
    if not found:
        names = ", ".join(sorted(entry.name for entry in folder.iterdir())[:10]) or "nothing"
        wanted = wanted or f"{', '.join(suffixes)} files, plain or .gz, in {{}}"
        raise ValueError(f"Expected {wanted.format(folder)}. Received: {names}")
    check_named_splits(folder, found)
    return dict(sorted(found.items()))
