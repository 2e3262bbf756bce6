"""Random access to the serialized examples in shards of either format."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_attn.extras import import_optional
from keras_attn.untrusted import DamagedFileError, naming_damage
from keras_attn_pipelines.data.shards.shard_writer import ARRAY_RECORD

LENGTH, HEADER, FOOTER = 8, 12, 4
"""Bytes of a TFRecord's length, of it and its checksum, and of the checksum after the data."""
MASK = 0xA282EAD8
"""What is added to a checksum that is rotated by 15 bits."""


def record_files(paths: Sequence[Path], form: str):
    """The serialized examples of some shards, in order.

    Args:
        paths: of the shards.
        form: "array_record" or "tfrecord".

    Returns:
        an object with a length and `__getitems__(rows)`, which returns a list of bytes.
    """
    return ArrayRecordFiles(paths) if form == ARRAY_RECORD else TFRecordFiles(paths)


class ArrayRecordFiles:
    """ArrayRecord files that are read by row; their own checksums are compared on every read.

    Args:
        paths: of the files.

    Raises:
        DamagedFileError: a damaged file; also on reading.
        ImportError: array_record is not installed.
    """

    def __init__(self, paths: Sequence[Path]):
        module = import_optional(paths[0], "array_record.python.array_record_data_source")
        self._paths, self._source = list(paths), module.ArrayRecordDataSource
        with self._naming_file():
            self._records = self._source([str(path) for path in paths])

    def __len__(self):
        return len(self._records)

    def __getitems__(self, rows) -> list[bytes]:
        with self._naming_file():
            return self._records.__getitems__(rows)

    @contextlib.contextmanager
    def _naming_file(self):
        """Context in which an error names the file that it comes from, found by reading them."""
        try:
            yield
        except RuntimeError:
            for path in self._paths:
                with naming_damage(f"undamaged ArrayRecords in {path}"):
                    records = self._source([str(path)])
                    records.__getitems__(range(len(records)))
            raise


class TFRecordFiles:
    """TFRecord files that are read by row; their index is made once, from the lengths alone.

    The checksums of lengths and data, CRC-32C, are compared on every read.

    Args:
        paths: of the files.

    Raises:
        DamagedFileError: a file that ends within a record, or a checksum that differs; also on
            reading.
        ImportError: google-crc32c is not installed.
    """

    def __init__(self, paths: Sequence[Path]):
        self._paths = list(paths)
        self._crc = import_optional("TFRecord files", "google_crc32c").value
        files, starts, lengths = [], [], []
        for number, path in enumerate(self._paths):
            for start, length in self._places(path):
                files.append(number)
                starts.append(start)
                lengths.append(length)
        self._files = np.array(files, "int32")
        self._starts, self._lengths = np.array(starts, "int64"), np.array(lengths, "int64")

    def __len__(self):
        return len(self._starts)

    def __getitems__(self, rows) -> list[bytes]:
        return [self._read(row) for row in rows]

    def _read(self, row):
        path, length, start = self._paths[self._files[row]], self._lengths[row], self._starts[row]
        file = os.open(path, os.O_RDONLY)
        try:
            stored = os.pread(file, length + FOOTER, start)
        finally:
            os.close(file)
        data = stored[:length]
        if stored[length:] != self._checksum(data):
            raise _differs(path, f"record at byte {start - HEADER}")
        return data

    def _checksum(self, data):
        """The masked CRC-32C of data, as it follows it."""
        crc = self._crc(data)
        return (((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF).to_bytes(FOOTER, "little")

    def _places(self, path):
        """Start and length of the data of each record in a file."""
        size = path.stat().st_size
        with path.open("rb") as file:
            place = 0
            while place < size:
                header = file.read(HEADER)
                if len(header) == HEADER and header[LENGTH:] != self._checksum(header[:LENGTH]):
                    raise _differs(path, f"length at byte {place}")
                length = int.from_bytes(header[:LENGTH], "little")
                end = place + HEADER + length + FOOTER
                if end > size:
                    raise DamagedFileError(
                        f"Expected whole TFRecords in {path}. Received: {size} bytes"
                    )
                yield place + HEADER, length
                place = end
                file.seek(place)


def _differs(path, what):
    return DamagedFileError(
        f"Expected undamaged TFRecords in {path}. Received: a wrong checksum of the {what}"
    )
