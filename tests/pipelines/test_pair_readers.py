"""Pairs of texts in every form they come in, and in every way they can be bad."""

import gzip
import json
import sys
import types

import pytest
import tensorflow as tf

from keras_attn_pipelines.data.file_splits import FileSplits
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.data.readers.pair_reader import pair_sources
from keras_attn_pipelines.data.record import MOST_CHARACTERS, MOST_WORDS

PAIRS = [TextPair("one dog", "ein Hund"), TextPair("two cats ☂", "zwei Katzen")]
TABLE = "source{0}target\none dog{0}ein Hund\ntwo cats ☂{0}zwei Katzen\n"
BOTH = [(pair.source, pair.target) for pair in PAIRS]
NESTED = [{"translation": {"en": source, "de": target}} for source, target in BOTH]
LISTED = [{"input": "one dog", "output": ["ein Hund", "der Hund"]}, {"input": "x", "output": "y"}]


def lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def written(folder, **files):
    """Files by name, "_" for "."; text is written as UTF-8, bytes as they are."""
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        name = name if "." in name else name.replace("_", ".")
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def read(data, *columns):
    return {stem: source.read() for stem, source in pair_sources(data, *columns).items()}


def only(data, *columns):
    (actual,) = read(data, *columns).values()
    return actual


def parallel(folder, source, target):
    """The file of two parallel texts."""
    return only(written(folder, train_en=source, train_de=target), "en", "de")


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("train_csv", TABLE.format(","), ()),
        ("train_tsv", TABLE.format("\t"), ()),
        ("train_tsv_gz", TABLE.format("\t"), ()),
        ("train_csv", "\ufeff" + TABLE.format(",").replace("\n", "\r\n"), ()),
        ("train_jsonl", lines({"src": source, "tgt": target} for source, target in BOTH), ()),
        (
            "train_jsonl_gz",
            lines({"a": source, "b": target} for source, target in BOTH),
            ("a", "b"),
        ),
        ("train_ndjson", "\ufeff" + lines(NESTED), ("en", "de")),
    ],
)
def test_tables(tmp_path, name, content, columns):
    actual = read(written(tmp_path, **{name: content}), *columns)
    assert list(actual) == ["train"]
    assert actual["train"].pairs == PAIRS and not actual["train"].skipped
    assert read(tmp_path / name.replace("_", "."), *columns)["train"].pairs == PAIRS


def test_parallel_files_by_their_suffixes(tmp_path):
    written(
        tmp_path,
        train_en="one dog\ntwo cats ☂\n",
        train_de_gz="ein Hund\r\nzwei Katzen\r\n",
        train_fr="un chien\ndeux chats",
        val_en="\ufeffa\n",
        val_de="b",
        lonely_en="x",
        notes_txt="nothing",
    )
    actual = read(tmp_path, "en", "de")
    assert {stem: own.pairs for stem, own in actual.items()} == {
        "train": PAIRS,
        "val": [TextPair("a", "b")],
    }
    assert only(tmp_path / "train.en", "en", "fr").pairs[1] == TextPair("two cats ☂", "deux chats")
    with pytest.raises(ValueError, match="the languages there are de, en, fr"):
        pair_sources(tmp_path)
    with pytest.raises(ValueError, match=r"train\.en and train\.nl\. Received: .*train\.de\.gz"):
        pair_sources(tmp_path, "en", "nl")
    with pytest.raises(ValueError, match=r"suffixes are .*Received: .*lonely\.en"):
        pair_sources(tmp_path / "lonely.en", "en", "de")


def test_several_targets_are_several_pairs_and_duplicates_stay(tmp_path):
    actual = only(written(tmp_path, all_jsonl=lines([*LISTED, LISTED[1]])))
    targets = [pair.target for pair in actual.pairs]
    assert targets == ["ein Hund", "der Hund", "y", "y"] and actual.records == 4


def test_files_of_different_length(tmp_path):
    with pytest.raises(
        ValueError,
        match=r"Received: 3 in train.en and 2 in train.de; the "
        r"first without a partner is .*train\.en:3: 'c'",
    ):
        parallel(tmp_path, "a\nb\nc\n", "x\ny\n")


def test_bad_lines_are_listed_with_their_place(tmp_path):
    source = b"a\n \n" + b"w " * (MOST_WORDS + 1) + b"\n\xff\nb\x00\x07c\x85d\n\xe2\x80\xa8\ne\n"
    target = f"x\ny\nz\nz\nu\tv\nz\n{'c' * (MOST_CHARACTERS + 1)}\n"
    actual = parallel(tmp_path, source.replace(b"\x85", b"\xc2\x85"), target)
    assert actual.pairs == [TextPair("a", "x"), TextPair("b c d", "u v")]
    path = tmp_path / "train.en"
    assert [str(value) for value in actual.skipped] == [
        f"{path}:2: empty source",
        f"{path}:3: source of {MOST_WORDS + 1} words (expected at most {MOST_WORDS})",
        f"{path}:4: not UTF-8 in train.en",
        f"{path}:6: empty source",
        f"{path}:7: target of {MOST_CHARACTERS + 1} characters (expected at most "
        f"{MOST_CHARACTERS})",
    ]
    assert actual.records == 7
    with pytest.raises(ValueError, match=r"at most 50.0% unusable records. Received: 5 of 7:"):
        actual.check(0.5)


def test_only_a_line_feed_ends_a_line(tmp_path):
    text = "a\u2028b\x0bc\x1cd\u0085e"
    assert parallel(tmp_path, text, "x").pairs == [TextPair("a b c d e", "x")]


def test_bad_rows_of_tables(tmp_path):
    rows = [{"source": "a"}, {"source": {}, "target": "b"}, {"source": "a", "target": "b"}]
    actual = only(written(tmp_path, x_jsonl=lines(rows) + "{\n"))
    reasons = [value.reason for value in actual.skipped]
    assert reasons[:2] == ["no target; keys: source", "no source; keys: source, target"]
    assert reasons[2].startswith("malformed JSON")
    assert [value.line for value in actual.skipped] == [1, 2, 4]


def test_a_quotation_mark_in_a_tsv_stands_for_itself(tmp_path):
    rows = ['"a', 'b"\tx', '"c"\t"d"', 'e\t"', '"\tf', "g\th\ti"]
    rows[:1] = ['"a\tz']
    actual = only(written(tmp_path, train_tsv="\n".join(["source\ttarget", *rows, ""])))
    expected = [('"a', "z"), ('b"', "x"), ('"c"', '"d"'), ("e", '"'), ('"', "f")]
    assert actual.pairs == [TextPair(*value) for value in expected]
    assert [str(value) for value in actual.skipped] == [
        f"{tmp_path / 'train.tsv'}:7: 3 values for 2 columns"
    ]


def test_a_long_quoted_value_of_a_csv(tmp_path):
    text = "word\n" * 40_000
    actual = only(written(tmp_path, train_csv=f'source,target\n"{text}",x\na,"b, c"\n'))
    assert actual.pairs == [TextPair("word " * 39_999 + "word", "x"), TextPair("a", "b, c")]


def test_columns_that_are_not_two(tmp_path):
    written(tmp_path, train_csv="source,source,target\na,b,c\n", x_jsonl='{"en": "a", "x": 1}\n')
    with pytest.raises(ValueError, match=r"one column 'source' in .*train\.csv\. Received: \['sou"):
        read(tmp_path)
    with pytest.raises(
        ValueError, match=r"a key named 'de' in .*x\.jsonl \(set --target-column\).*\"x\": 1"
    ):
        read(tmp_path, "en", "de")
    with pytest.raises(ValueError, match=r"that differ\. Received: 'en' twice"):
        read(tmp_path, "en", "en")


def test_gzip_is_known_by_its_content(tmp_path):
    (tmp_path / "train.en.gz").write_bytes(b"one\n")
    (tmp_path / "train.de").write_bytes(gzip.compress(b"eins\n"))
    assert only(tmp_path, "en", "de").pairs == [TextPair("one", "eins")]
    (tmp_path / "train.de").write_bytes(gzip.compress(b"one\ntwo\n" * 99)[:-9])
    with pytest.raises(ValueError, match=r"Expected a whole gzip file at .*train\.de"):
        only(tmp_path, "en", "de")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_other_encodings(tmp_path, encoding):
    for name, content in (("train.de", b"a\n"), ("train.en", "one\n".encode(encoding))):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"Expected UTF-8 in .*train\.en\. Received: UTF-16"):
        only(tmp_path, "en", "de")


def test_nothing_there(tmp_path):
    with pytest.raises(ValueError, match="no such file or folder"):
        pair_sources(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="Received: source_column=auto"):
        pair_sources(tmp_path)
    written(tmp_path, scores_csv="a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"(?s)files with a source and a target.*scores\.csv"):
        pair_sources(tmp_path)
    with pytest.raises(ValueError, match="Expected usable records"):
        parallel(tmp_path, "\n", "\n")


def test_splits_of_the_real_layout(tmp_path):
    texts = {"train": "a\nb\n", "val": "c\n", "test_2016_flickr": "d\n"}
    for stem, text in texts.items():
        written(tmp_path, **{f"{stem}.en.gz": text, f"{stem}.de.gz": text.upper()})
    splits = FileSplits(pair_sources(tmp_path, "en", "de"))
    records = splits.training()
    assert {name: [pair.source for pair in own] for name, own in records.splits.items()} == {
        "train": ["a", "b"],
        "dev": ["c"],
    }
    names = {name: path.name for name, path in records.files.items()}
    assert names == {"train": "train.en.gz", "dev": "val.en.gz"}
    for name, expected in (("test", "d"), ("test_2016_flickr", "d"), ("dev", "c"), ("val", "c")):
        assert splits.pairs(name) == [TextPair(expected, expected.upper())]
    written(tmp_path, **{"test_2017.en": "e", "test_2017.de": "E"})
    more = FileSplits(pair_sources(tmp_path, "en", "de"))
    assert set(more.training().splits) == {"train", "dev"}
    assert more.pairs("test_2017") == [TextPair("e", "E")]
    with pytest.raises(ValueError, match=r"name one as the split. Received: test_2016_fl"):
        more.pairs("test")
    with pytest.raises(ValueError, match=r"Expected a split of train, dev, test, .*'nowhere'"):
        more.pairs("nowhere")


def test_without_split_files_the_source_decides(tmp_path):
    rows = [{"source": f"text {n % 90}", "target": str(n)} for n in range(180)]
    splits = FileSplits(pair_sources(written(tmp_path, pairs_jsonl=lines(rows))))
    actual_splits = splits.training().splits
    assert (
        sum(map(len, actual_splits.values())) == 180 and min(map(len, actual_splits.values())) > 2
    )
    sources = [{pair.source for pair in own} for own in actual_splits.values()]
    assert not (sources[0] & sources[1] or sources[0] & sources[2] or sources[1] & sources[2])
    for name, own in actual_splits.items():
        assert splits.pairs(name) == own
    written(tmp_path, pairs_jsonl=lines(rows[::-1]))
    again = FileSplits(pair_sources(tmp_path)).training().splits
    assert {name: set(own) for name, own in again.items()} == {
        name: set(own) for name, own in actual_splits.items()
    }


def test_no_train(tmp_path):
    written(tmp_path, a_csv=TABLE.format(","), b_csv=TABLE.format(","))
    with pytest.raises(ValueError, match="Expected a file for the split 'train', as train or trai"):
        FileSplits(pair_sources(tmp_path)).training()


class Builder:
    """The part of a tensorflow-datasets builder that is used."""

    def __init__(self):
        self.info = types.SimpleNamespace(splits={"train": None, "validation": None})

    def download_and_prepare(self):
        self.prepared = True

    def as_dataset(self, split, shuffle_files):
        assert self.prepared and not shuffle_files
        texts = {"en": [f"{split} one", "two"], "de": ["eins", "zwei"], "id": [3, 5]}
        return tf.data.Dataset.from_tensor_slices(texts)


def test_tensorflow_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-attn\[tfds\]'"):
        pair_sources("tfds:toy/en-de", "en", "de")
    fake = types.SimpleNamespace(builder=lambda name: Builder())
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    splits = FileSplits(pair_sources("tfds:toy/en-de", "en", "de"))
    assert splits.sources["train"].read().pairs[0] == TextPair("train one", "eins")
    assert splits.training().splits["dev"][0] == TextPair("validation one", "eins")
    turned = read("tfds:toy/en-de", "de", "en")["validation"]
    assert turned.pairs[0] == TextPair("eins", "validation one")
