"""Records in shards: found, and read by row number."""

import contextlib
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_attn.extras import import_optional
from keras_attn.untrusted import DamagedFileError, naming_damage, parse_json, read_json
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.selected import RowSequence
from keras_attn_pipelines.data.shards.record_features import IMAGE, RecordFeatures
from keras_attn_pipelines.data.shards.shard_writer import INDEX, RECORDS, VERSION

HASHED = 1024
"""Records that are read at a time for a digest of all."""
METADATA_FILE, INFO_FILE = "metadata.json", "dataset_info.json"
BY_ROW = "#row="
"""Marks in the paths of pictures: between the folder of a data set and the split and row, or
between a file and the start and size of a record."""


def shards_in(data) -> "Shards | None":
    """The shards in a folder that `write_shards` wrote, or in that of its data set; else None.

    Raises:
        ValueError: several data sets.
    """
    root = Path(data)
    if not root.is_dir():
        return None
    found = []
    for path in sorted([*root.glob(METADATA_FILE), *root.glob(f"*/{VERSION}/{METADATA_FILE}")]):
        description = _description(path)
        if description is not None and not path.parent.parent.name.endswith(INDEX):
            found.append(Shards(path.parent, description))
    if len(found) > 1:
        names = ", ".join(str(shards.folder) for shards in found)
        raise ValueError(f"Expected one data set of shards in {data}. Received: {names}")
    return found[0] if found else None


@dataclass(frozen=True)
class Shards:
    """A data set of records in shards, not read yet.

    Attributes:
        folder: path of the data set's version.
        description: what was known of the records when they were written.
    """

    folder: Path
    description: Mapping[str, Any]

    @property
    def lengths(self) -> dict[str, int]:
        """Number of records by split."""
        with naming_damage(f"a description of shards in {self.folder / INFO_FILE}"):
            return {
                split["name"]: sum(map(int, split.get("shardLengths", ())))
                for split in read_json(self.folder / INFO_FILE)["splits"]
            }

    def split(self, name: str, record: type) -> "ShardedRecords":
        """The records of a split.

        Args:
            name: of the split.
            record: dataclass of the records.

        Raises:
            ValueError: no such split, or shards of records with other fields.
        """
        lengths = self.lengths
        if not lengths.get(name):
            raise ValueError(
                f"Expected a split of {', '.join(lengths)} in {self.folder}. Received: {name!r}"
            )
        kinds = RecordFeatures(record).kinds
        if kinds != self.description["kinds"]:
            raise ValueError(
                f"Expected records with {kinds} in {self.folder}, written by this version. "
                f"Received: {self.description['kinds']}; prepare them again"
            )
        with naming_damage(f"a digest of the split {name!r} in {self.folder / METADATA_FILE}"):
            return ShardedRecords(self.folder, name, record, self.description["digests"][name])


@dataclass(frozen=True)
class ShardedRecords(RowSequence):
    """The records of a split, each read when it is asked for.

    Attributes:
        folder: path of the data set's version.
        name: of the split.
        record: dataclass of the records.
        recorded: fingerprint of the records when they were written.
    """

    folder: Path
    name: str
    record: type
    recorded: str

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the stored bytes of all records, of pictures their digests."""
        digest = hashlib.sha256()
        for data in _rows(self._index, self.name).stored():
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.hexdigest()

    def check(self) -> None:
        """Raises DamagedFileError, with its name, if a file of the records is damaged."""
        for folder in {self.folder, self._index}:
            for _ in _rows(folder, self.name).stored():
                pass

    def __len__(self):
        return len(_rows(self._index, self.name))

    def rows(self, rows: Sequence[int]) -> list[Any]:
        """See `RowSequence`."""
        features = RecordFeatures(self.record)
        pictures = (StoredPicture(self.folder, self.name, int(row)) for row in rows)
        with naming_damage(f"undamaged records in {self.folder}"):
            values = _rows(self._index, self.name).at(rows)
            return [features.restored(one, picture) for one, picture in zip(values, pictures)]

    @property
    def _index(self):
        """Folder of the data set without pictures, or of the only one."""
        if IMAGE not in RecordFeatures(self.record).kinds:
            return self.folder
        name = self.folder.parent.name + INDEX
        return self.folder.parent.parent / name / self.folder.name


@contextlib.contextmanager
def naming_shards(splits: Iterable[ShardedRecords]):
    """Context in which an error of a data set names a file of these records that is damaged.

    Raises:
        DamagedFileError: in place of TensorFlow's error, if there is such a file.
    """
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError:
        for records in splits:
            records.check()
        raise


@dataclass(frozen=True)
class StoredPicture:
    """An encoded picture in shards, where a record has the path of a file otherwise.

    Attributes:
        folder: path of the data set's version.
        split: name.
        row: number of the record.
    """

    folder: Path
    split: str
    row: int

    def __str__(self):
        return f"{self.folder}{BY_ROW}{self.split},{self.row}"

    def read_bytes(self) -> bytes:
        """The encoded picture."""
        return _rows(self.folder, self.split).at([self.row])[0][IMAGE]


def stored_bytes(path: str) -> bytes:
    """The encoded picture in shards that `str` of a `StoredPicture` names."""
    folder, named = path.rsplit(BY_ROW, 1)
    split, row = named.rsplit(",", 1)
    return StoredPicture(Path(folder), split, int(row)).read_bytes()


class _Rows:
    """Features of a split by row number."""

    def __init__(self, folder, name):
        from keras_attn_pipelines.data.shards.record_files import record_files

        tfds = import_optional(folder)
        with naming_damage(f"a description of shards in {folder}"):
            builder = tfds.builder_from_directory(str(folder))
            info = builder.info.splits[name]
        paths = [check_inside(Path(path), folder) for path in info.filepaths]
        self._features = builder.info.features
        self._decoders = {IMAGE: tfds.decode.SkipDecoding()} if IMAGE in self._features else None
        self.files = record_files(paths, builder.info.file_format.value)
        if len(self.files) != info.num_examples:
            raise ValueError(
                f"Expected {info.num_examples} records in the split {name!r} of {folder}. "
                f"Received: {len(self.files)}; prepare them again"
            )

    def __len__(self):
        return len(self.files)

    def stored(self) -> Iterator[bytes]:
        """The serialized examples, in order."""
        for start in range(0, len(self), HASHED):
            rows = range(start, min(start + HASHED, len(self)))
            yield from self.files.__getitems__(list(rows))

    def at(self, rows) -> list[dict[str, Any]]:
        """The features of some rows."""
        read = self._features.deserialize_example_np
        return [
            read(data, decoders=self._decoders)
            for data in self.files.__getitems__([int(row) for row in rows])
        ]


def _rows(folder, name) -> _Rows:
    """The open files of a split."""
    return _opened(folder, name, (folder / INFO_FILE).stat().st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _opened(folder, name, written) -> _Rows:
    return _Rows(folder, name)


def _description(path):
    """What `write_shards` knew of the records; None for a metadata file of something else."""
    try:
        content = read_json(path)
    except DamagedFileError:
        if (path.parent / INFO_FILE).is_file():
            raise
        return None
    if not isinstance(content, dict) or RECORDS not in content:
        return None
    with naming_damage(f"a description of records in {path}"):
        return dict(parse_json(content[RECORDS]))
