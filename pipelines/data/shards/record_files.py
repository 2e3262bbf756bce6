"""Random access to the serialized examples in shards of either format."""

import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_attn_pipelines.data.readers.tfds_reader import imported_tfds
from keras_attn_pipelines.data.shards.shard_writer import ARRAY_RECORD

HEADER, FOOTER = 12, 4
"""Bytes before and after the data of a TFRecord: its length and the check sums."""


def record_files(paths: Sequence[Path], form: str):
    """The serialized examples of some shards, in order.

    Args:
        paths: of the shards.
        form: "array_record" or "tfrecord".

    Returns:
        an object with a length and `__getitems__(rows)`, which returns a list of bytes.
    """
    if form == ARRAY_RECORD:
        module = imported_tfds(paths[0], "array_record.python.array_record_data_source")
        return module.ArrayRecordDataSource([str(path) for path in paths])
    return TFRecordFiles(paths)


class TFRecordFiles:
    """TFRecord files that are read by row; their index is made once, from the lengths alone.

    Args:
        paths: of the files.

    Raises:
        ValueError: a file that ends within a record.
    """

    def __init__(self, paths: Sequence[Path]):
        self._paths = list(paths)
        files, starts, lengths = [], [], []
        for number, path in enumerate(self._paths):
            for start, length in _places(path):
                files.append(number)
                starts.append(start)
                lengths.append(length)
        self._files = np.array(files, "int32")
        self._starts, self._lengths = np.array(starts, "int64"), np.array(lengths, "int64")

    def __len__(self):
        return len(self._starts)

    def place(self, row: int) -> tuple[Path, int, int, int]:
        """The file of a record, start and length of its data, and the bytes that follow."""
        path = self._paths[self._files[row]]
        start, length = int(self._starts[row]), int(self._lengths[row])
        return path, start, length, path.stat().st_size - start - length

    def __getitems__(self, rows) -> list[bytes]:
        found = []
        for row in rows:
            with self._paths[self._files[row]].open("rb") as file:
                found.append(os.pread(file.fileno(), self._lengths[row], self._starts[row]))
        return found


def _places(path):
    """Start and length of the data of each record in a file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        place = 0
        while place < size:
            header = file.read(HEADER)
            length = struct.unpack("<Q", header[:8])[0] if len(header) == HEADER else size
            end = place + HEADER + length + FOOTER
            if end > size:
                raise ValueError(f"Expected whole TFRecords in {path}. Received: {size} bytes")
            yield place + HEADER, length
            place = end
            file.seek(place)
