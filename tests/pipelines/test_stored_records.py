"""Records and sequences that are not in memory: the same values as in lists and arrays."""

import re
from dataclasses import dataclass, field

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.text.bracket_text import parse_tree
from keras_attn_pipelines.data import sequence_examples
from keras_attn_pipelines.data.facts import FactSet
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.data.picture_folder import CaptionedPicture
from keras_attn_pipelines.data.read_pictures import read_pictures
from keras_attn_pipelines.data.readers.babi_reader import StoryQuestion
from keras_attn_pipelines.data.readers.tree_reader import TreePair
from keras_attn_pipelines.data.selected import RowSequence, selected
from keras_attn_pipelines.data.sequence_examples import encoded_tables
from keras_attn_pipelines.data.shards import shards
from keras_attn_pipelines.data.shards.record_features import IMAGE, RecordFeatures
from keras_attn_pipelines.data.shards.record_files import TFRecordFiles
from keras_attn_pipelines.data.stored_table import StoredTable
from keras_attn_pipelines.data.tables import RaggedTable


@dataclass(frozen=True)
class Odd:
    """Fields of every other type."""

    weight: float
    known: bool
    numbers: tuple[int, str]
    absent: str | None = None
    line: int = field(default=0, compare=False)


RECORDS = [
    TextPair("ein \udce9 Wort", "", 7),
    FactSet((("a", "b", "c"), ("", "é", "猫")), ("one", "two"), ((1, 0), ()), "City", 3),
    TreePair("the cell", parse_tree("(S (NP (DT the) (NN cell)))"), 5),
    TreePair("cell", parse_tree("(NN cell)"), 5),
    StoryQuestion(3, ("Mary went.", "So did he."), "Who?", "Mary", "qa3.txt", 11),
    Odd(0.1, True, (3, "x"), None, 2),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_is_its_features(record):
    features = RecordFeatures(type(record))
    values = features.values(record)
    assert list(values) == list(features.kinds)
    restored = features.restored(values)
    assert restored == record and restored.line == record.line


def test_a_picture_is_its_bytes(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"encoded")
    record, features = (
        CaptionedPicture("a", path, ("one", "two"), "d"),
        RecordFeatures(CaptionedPicture),
    )
    assert features.values(record)[IMAGE] == b"encoded"
    values = features.values(record, leaves_out=IMAGE)
    assert IMAGE in features.kinds and set(values) == {"name", "captions", "digest"}
    assert features.restored(values, path) == record


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (TextPair("a", 3), "Expected target of TextPair as text. Received: int 3"),
        (Odd(1.0, True, np.ones(2)), "Expected numbers of Odd as json. Received: ndarray"),
    ],
)
def test_values_that_cannot_be_stored_are_refused(record, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        RecordFeatures(type(record)).values(record)


def ragged(random, rows, *inner):
    """A table of sequences of 0 to 6 values."""
    lengths = random.integers(0, 7, rows)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = random.integers(1, 99, (starts[-1], *inner)).astype("int32")
    return RaggedTable(values, starts.astype("int64"))


@pytest.mark.parametrize("inner", [(), (3,)])
def test_a_stored_table_is_the_table(inner, monkeypatch):
    monkeypatch.setattr(sequence_examples, "ENCODED", 7)
    monkeypatch.setattr(sequence_examples, "STORED", 5)
    whole = ragged(np.random.default_rng(3), 23, *inner)

    def encode(records):
        return {"all": whole.kept(np.array(records))}

    stored = encoded_tables(encode, list(range(23)))["all"]
    assert isinstance(stored, StoredTable) and stored.inner == whole.inner == inner
    np.testing.assert_array_equal(stored.lengths, whole.lengths)
    rows = np.array([22, 0, -1, 11, 11, 4, 5])
    np.testing.assert_array_equal(stored.take(rows, 5), whole.take(rows, 5))
    chosen = np.array([3, 17, 2])
    some, others = stored.kept(chosen), whole.kept(chosen)
    assert len(some) == 3
    np.testing.assert_array_equal(some.take(np.arange(3), 7), others.take(np.arange(3), 7))
    assert isinstance(encoded_tables(encode, list(range(7)))["all"], RaggedTable)


class Rows(RowSequence):
    """A list as a sequence of rows, and what it was asked for."""

    def __init__(self, records):
        self.records, self.asked = records, []

    def __len__(self):
        return len(self.records)

    def rows(self, rows):
        """See `RowSequence`."""
        self.asked += rows
        return [self.records[row] for row in rows]


def test_selected_records_are_read_when_asked_for():
    records, places = [f"{row}" for row in range(13)], np.array([1, 11, 4, 7])
    expected = ["1", "11", "4", "7"]
    assert selected(records, places) == expected
    rows = Rows(records)
    assert selected(rows, places)[2] == "4" and rows.asked == [4]
    lazy = selected(rows, places)
    assert list(lazy) == lazy[:] == expected and lazy[1] == "11" and lazy[-2:] == ["4", "7"]
    twice = selected(lazy, np.array([3, 0]))
    assert list(twice) == ["7", "1"] and len(twice) == 2


def test_records_in_shards_have_the_digest_that_they_were_written_with():
    @dataclass(frozen=True)
    class Stored:
        digest: str

    one, other = (fingerprint({"train": Stored(digest)}) for digest in ("a", "b"))
    assert one != other == fingerprint({"train": Stored("b")})


def test_tfrecords_are_read_by_row(tmp_path):
    contents = [b"x" * place + b"\0" for place in (3, 0, 7, 11, 2)]
    paths = [tmp_path / "0", tmp_path / "1"]
    for path, part in zip(paths, (contents[:2], contents[2:])):
        with tf.io.TFRecordWriter(str(path)) as writer:
            for data in part:
                writer.write(data)
    files = TFRecordFiles(paths)
    assert len(files) == 5
    assert files.__getitems__([4, 0, 2]) == [contents[4], contents[0], contents[2]]
    content = paths[1].read_bytes()
    for place in (3, 9, 16, len(content) - 1):  # A length, its checksum, data, its checksum.
        damaged = bytearray(content)
        damaged[place] ^= 4
        paths[1].write_bytes(damaged)
        with pytest.raises(ValueError, match=r"undamaged TFRecords in .*/1\. .*a wrong checksum"):
            TFRecordFiles(paths).__getitems__(range(5))
    paths[1].write_bytes(content)
    for cut in (1, 5, 20):
        paths[1].write_bytes(paths[1].read_bytes()[:-cut])
        with pytest.raises(ValueError, match=r"Expected whole TFRecords in .*/1"):
            TFRecordFiles(paths)


def test_pictures_in_shards_are_read_beside_those_in_files(tmp_path, monkeypatch):
    class Length:
        """Decodes contents to their length."""

        height = width = 1

        @staticmethod
        def decode(contents):
            return tf.fill((1, 1, 3), tf.cast(tf.strings.length(contents), tf.uint8))

    by_row = f"shards é{shards.BY_ROW}train,5"
    monkeypatch.setattr(
        "keras_attn_pipelines.data.read_pictures.stored_bytes", {by_row: b"12345"}.__getitem__
    )
    odd = tmp_path / "a#b,3.png"
    odd.write_bytes(b"12")
    paths = tf.data.Dataset.from_tensors([by_row, str(odd), ""])
    (batch,) = paths.map(lambda paths: read_pictures(paths, Length()))
    assert batch.numpy()[:, 0, 0, 0].tolist() == [5, 2, 0]


def test_shards_of_something_else_are_none(tmp_path):
    assert shards.shards_in(tmp_path) is None and shards.shards_in("tfds:no") is None
    (tmp_path / "metadata.json").write_text('{"other": 1}')
    assert shards.shards_in(tmp_path) is None
    for name in ("a", "b"):
        folder = tmp_path / name / "1.0.0"
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text('{"keras_attn_records": "{}"}')
    with pytest.raises(ValueError, match="Expected one data set of shards"):
        shards.shards_in(tmp_path)
