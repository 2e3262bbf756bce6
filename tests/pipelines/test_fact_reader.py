"""Readers of facts with texts: their formats, and what is wrong with a record."""

import gzip
import json
import sys
import types

import pytest
import tensorflow as tf

from keras_attn_pipelines.data.facts import FactSet
from keras_attn_pipelines.data.readers.fact_reader import fact_sources
from keras_attn_pipelines.tasks.data_to_text import SetsOfFacts

FACT = ["Ada", "field", "sums"]
BORN = ["Ada", "birthYear", "1815"]
GOOD = {
    "category": "Person",
    "triples": [FACT, BORN],
    "texts": [{"text": "Ada,  born\t1815.", "order": [1, 0]}, "Ada does sums."],
}
XML = """<?xml version="1.0" encoding="UTF-8"?>
<benchmark><entries>
<entry category="Person" eid="Id1" size="2">
  <originaltripleset><otriple>x | y | z</otriple></originaltripleset>
  <modifiedtripleset><mtriple>Ada | field | sums</mtriple><mtriple>Ada | birthYear | 1815</mtriple>
  </modifiedtripleset>
  <lex comment="good" lid="Id1">Ada does sums.</lex>
  <lex comment="good" lid="Id2"><sortedtripleset><sentence ID="1"><striple>Ada | birthYear | 1815
  </striple><striple>Ada | field | sums</striple></sentence></sortedtripleset>
  <text>Born in 1815, Ada does sums.</text><template>AGENT-1 does</template></lex>
</entry>
<entry category="Person" eid="Id2" size="1">
  <modifiedtripleset><mtriple>Ada | sums</mtriple></modifiedtripleset>
  <lex>Ada does sums.</lex>
</entry>
</entries></benchmark>
"""


def read(folder, name, content):
    """The `ReadFile` of a file with this content."""
    content = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    (source,) = fact_sources(folder / name).values()
    return source.read()


@pytest.mark.parametrize("name", ["train.jsonl", "train.jsonl.gz", "train.ndjson"])
def test_json_lines(name, tmp_path):
    table = {"table": {"name": "Ada", "field": "sums"}, "text": "Ada does sums."}
    lines = [GOOD, {"facts": [FACT], "text": "Sums."}, table]
    read_file = read(tmp_path, name, "\n".join(map(json.dumps, lines)) + "\n\n")
    first, second, third = read_file.pairs
    assert first.facts == (("Ada", "field", "sums"), ("Ada", "birthYear", "1815"))
    assert first.texts == ("Ada, born 1815.", "Ada does sums.")
    assert first.orders == ((1, 0), ()) and first.category == "Person" and first.line == 1
    assert second == FactSet((("Ada", "field", "sums"),), ("Sums.",), ((),))
    assert third.facts == (("", "name", "Ada"), ("", "field", "sums")) and third.line == 3
    assert read_file.form == "JSON lines" and not read_file.skipped


BAD = [
    ('{"triples": [["Ada", "field", "sums"]], ', "malformed JSON: "),
    ('{"triples": [], "texts": ["a"]}', "no facts"),
    ('{"triples": [["Ada", "field"]], "texts": ["a"]}', "fact 1 has 2 parts (expected subject"),
    ('{"triples": [["Ada", "field", {}]], "texts": ["a"]}', "fact 1 has a part that is no text"),
    ('{"triples": [["Ada", "field", " "]], "texts": ["a"]}', "fact 1 without object"),
    ('{"triples": ["Ada"], "texts": ["a"]}', "fact 1 is no list: 'Ada'"),
    ('{"triples": [["a", "b", "c"], ["a", "b", "c"]], "text": "a"}', "fact 2 repeats fact 1"),
    ('{"triples": [["a", "b", "c"]], "texts": []}', "no text"),
    ('{"triples": [["a", "b", "c"]]}', "no text"),
    ('{"triples": [["a", "b", "c"]], "text": " "}', "empty text"),
    ('{"triples": [["a", "b", "c"]], "text": {"text": null}}', "the text is not a string: None"),
    ('{"triples": [["a", "b", "c"]], "texts": [{"text": "a", "order": [1]}]}', "no order of 1"),
    ('{"text": "a"}', "no triples and no table; keys: text"),
    ('{"table": ["a"], "text": "a"}', "expected a table as an object"),
    ('{"table": {"a": null}, "text": "a"}', "the value of 'a' is no text: None"),
    ('[["a", "b", "c"]]', "expected an object, received"),
    (b'{"triples": [["a", "b", "\xff"]], "text": "a"}', "not UTF-8"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_line_is_named_and_its_neighbors_are_read(line, reason, tmp_path):
    line = line if isinstance(line, bytes) else line.encode()
    good = json.dumps(GOOD).encode()
    file = read(tmp_path, "train.jsonl", b"\n".join([good, line, good.replace(b"Ada", b"Zoe")]))
    assert [pair.line for pair in file.pairs] == [1, 3] and file.records == 3
    (skipped,) = file.skipped
    assert skipped.line == 2 and reason in str(skipped)
    assert str(skipped).startswith(f"{tmp_path / 'train.jsonl'}:2: ")
    with pytest.raises(ValueError, match=r"Expected at most 1\.0% unusable records"):
        file.check(0.01)


def test_nothing_usable(tmp_path):
    with pytest.raises(ValueError, match=r"(?s)Expected usable records in .*malformed JSON"):
        read(tmp_path, "train.jsonl", "{")


def test_cycles_unicode_and_long_values_are_facts(tmp_path):
    triples = [["a", "b", "c"], ["c", "b", "a"], ["José_Ñ", "名", "x" * 1000]]
    (pair,) = read(tmp_path, "a.jsonl", json.dumps({"triples": triples, "text": "a"})).pairs
    assert pair.facts == tuple(map(tuple, triples))


def test_rows_of_a_table_with_the_same_facts_are_joined(tmp_path):
    (pair,) = read(tmp_path, "a.csv", "name,near,text\nCove,Hill,One.\nCove,Hill,Two.\n").pairs
    assert pair.texts == ("One.", "Two.") and pair.orders == ((), ()) and pair.line == 2
    assert pair.source == "name | Cove; near | Hill"
    lines = [json.dumps(GOOD), json.dumps({**GOOD, "triples": [BORN, FACT]})]
    first, second = read(tmp_path, "a.jsonl", "\n".join(lines)).pairs
    assert first.source == second.source == "Ada | birthYear | 1815; Ada | field | sums"


@pytest.mark.parametrize(("name", "tab"), [("train.csv", ","), ("train.tsv.gz", "\t")])
def test_tables_with_a_header(name, tab, tmp_path):
    rows = [["name", "near", "ref"], ["Cove", "", "It is Cove."], ["Hill", "Cove", "By Cove."]]
    file = read(tmp_path, name, "\n".join(tab.join(row) for row in rows))
    first, second = file.pairs
    assert first.facts == (("", "name", "Cove"),) and first.texts == ("It is Cove.",)
    assert second.facts == (("", "name", "Hill"), ("", "near", "Cove")) and second.line == 3


def test_bad_tables(tmp_path):
    file = read(tmp_path, "a.csv", "name,text\nCove,It.\nHill,a,b\n,No name.\nCove 2,Two.\n")
    assert [pair.line for pair in file.pairs] == [2, 5]
    assert [(skip.line, skip.reason) for skip in file.skipped] == [
        (3, "3 values for 2 columns; ',' without quotes?"),
        (4, "no facts"),
    ]
    for header in ("name,near", "text", "name,name,text"):
        with pytest.raises(ValueError, match=r"Expected a header .*\(set --text-column\)"):
            read(tmp_path, "b.csv", f"{header}\na,b\n")
    (tmp_path / "c.csv").write_text("name,said\nCove,It.\n")
    with pytest.raises(ValueError, match="one of 'text'"):
        fact_sources(tmp_path / "c.csv", "text")
    (source,) = fact_sources(tmp_path / "c.csv", "said").values()
    assert source.read().pairs[0].texts == ("It.",)


def test_xml_of_webnlg(tmp_path):
    file = read(tmp_path, "train.xml", XML)
    (pair,) = file.pairs
    assert pair.facts == (("Ada", "field", "sums"), ("Ada", "birthYear", "1815"))
    assert pair.texts == ("Ada does sums.", "Born in 1815, Ada does sums.")
    assert pair.orders == ((), (1, 0)) and pair.category == "Person"
    assert [skip.reason for skip in file.skipped] == [
        "entry 2: fact 1 without three parts between |"
    ]
    with pytest.raises(ValueError, match=r"Expected XML in .*train\.xml"):
        read(tmp_path, "train.xml", XML[:-20])


def test_folders(tmp_path):
    for name in ("train.jsonl", "dev.jsonl"):
        read(tmp_path, name, json.dumps({**GOOD, "triples": [[name, "b", "c"]], "texts": ["a"]}))
    (tmp_path / "README.md").write_text("notes")
    records = SetsOfFacts().read(tmp_path)
    assert records.splits["dev"][0].facts == (("dev.jsonl", "b", "c"),)
    assert SetsOfFacts().split(tmp_path, "train")[0].facts == (("train.jsonl", "b", "c"),)
    read(tmp_path, "dev.csv", "name,text\na,b\n")
    with pytest.raises(ValueError, match="Expected one file of each name"):
        SetsOfFacts().find(tmp_path)
    with pytest.raises(ValueError, match="no such file or folder"):
        SetsOfFacts().find(tmp_path / "no")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"Expected \.jsonl, .*Received: nothing"):
        SetsOfFacts().find(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"Expected a file of \.jsonl"):
        SetsOfFacts().find(tmp_path / "README.md")


class Builder:
    """A data set of tensorflow-datasets with a table for each text."""

    def __init__(self, headers):
        self.headers = headers
        features = {"input_text": None, "target_text": None} if headers else {"text": None}
        self.info = types.SimpleNamespace(splits={"train": None}, features=features)

    def download_and_prepare(self):
        self.prepared = True

    def as_dataset(self, split, shuffle_files):
        assert self.prepared and not shuffle_files
        table = {
            "column_header": tf.constant(self.headers * 2),
            "row_number": tf.constant([0] * len(self.headers) + [1] * len(self.headers)),
            "content": tf.constant([f"v{place}" for place in range(2 * len(self.headers))]),
        }
        example = {"input_text": {"table": table}, "target_text": tf.constant("Text.")}
        return [example, {**example, "target_text": tf.constant("Other.")}]


def test_tensorflow_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-attn\[tfds\]'"):
        fact_sources("tfds:web_nlg/en")
    kinds = {
        "web_nlg/en": (
            ["subject", "predicate", "object"],
            (("v0", "v1", "v2"), ("v3", "v4", "v5")),
        ),
        "e2e": (
            ["name", "near"],
            (("", "name", "v0"), ("", "near", "v1"), ("", "name", "v2"), ("", "near", "v3")),
        ),
        "other": ([], ()),
    }
    fake = types.SimpleNamespace(builder=lambda name: Builder(kinds[name][0]))
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    for name in ("web_nlg/en", "e2e"):
        (pair,) = fact_sources(f"tfds:{name}")["train"].read().pairs
        assert pair.facts == kinds[name][1] and pair.texts == ("Text.", "Other.")
    with pytest.raises(ValueError, match="Expected a data set with input_text"):
        fact_sources("tfds:other")


def test_webnlg(data_folder):
    splits = SetsOfFacts().read(data_folder / "webnlg").splits
    counts = {name: len(split) for name, split in splits.items() if split}
    assert counts == {"train": 6940, "dev": 870}
    assert sum(len(record.texts) for record in splits["train"]) == 18102
