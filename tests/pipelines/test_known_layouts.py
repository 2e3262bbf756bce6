"""Every known layout is read, named in the report, and described in the docs."""

import gzip
import io
import json
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from keras_attn_pipelines.data.layouts import LAYOUTS, layout_of, layout_table
from keras_attn_pipelines.data.readers import archives
from keras_attn_pipelines.tasks.captioning import CaptionedPictures
from keras_attn_pipelines.tasks.classification import LabeledPictures, LabeledTexts
from keras_attn_pipelines.tasks.data_to_text import SetsOfFacts
from keras_attn_pipelines.tasks.parsing import Treebank
from keras_attn_pipelines.tasks.seq2seq import TextPairs

COUNT = 13
NAMES = [f"{place:02}.jpg" for place in range(COUNT)]
SENTENCES = [f"a small dog number {place}" for place in range(COUNT)]
SIDES = {"source_column": "en", "target_column": "de"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def jpeg(place):
    data = io.BytesIO()
    Image.fromarray(np.full((5, 7, 3), 11 * place, "uint8")).save(data, "JPEG")
    return data.getvalue()


def lines(*rows):
    return "".join(f"{row}\n" for row in rows)


def table(delimiter, header, *columns):
    return lines(*(delimiter.join(row) for row in ([header] if header else []) + [*zip(*columns)]))


def tar(members):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def parquet(**columns):
    data = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), data)
    return data.getvalue()


def written(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def json_lines(first, second, *columns):
    return lines(*(json.dumps({first: a, second: b}) for a, b in zip(*columns)))


PICTURES = {f"images/{name}": jpeg(place) for place, name in enumerate(NAMES)}
STRUCTS = [{"bytes": jpeg(place), "path": None} for place in range(COUNT)]
KINDS = ["cat" if place % 2 else "dog" for place in range(COUNT)]
TRIPLES = [[["Lakeview", "mayor", f"Kim {place}"]] for place in range(COUNT)]
ENTRIES = lines(
    *(
        f"<entry><modifiedtripleset><mtriple>{' | '.join(triples[0])}</mtriple></modifiedtripleset>"
        f"<lex comment='good' lid='Id1'>{text}</lex></entry>"
        for triples, text in zip(TRIPLES, SENTENCES)
    )
)
UNITS = lines(
    *(
        f"<tu><tuv xml:lang='en'><seg>{text}</seg></tuv>"
        "<tuv xml:lang='de'><seg>Hund</seg></tuv></tu>"
        for text in SENTENCES
    )
)
GERMAN = ["ein Hund"] * COUNT
IMAGES = [{"id": place, "file_name": name} for place, name in enumerate(NAMES)]
TOLD = [{"image_id": place, "caption": text} for place, text in enumerate(SENTENCES)]
KARPATHY = [
    {
        "filename": name,
        "sentences": [{"raw": text}],
        "split": "val" if name == NAMES[0] else "train",
    }
    for name, text in zip(NAMES, SENTENCES)
]
EXAMPLES = {
    "captioned pictures": (
        CaptionedPictures(),
        {
            "COCO captions": {"captions.json": {"images": IMAGES, "annotations": TOLD}},
            "Karpathy's split": {"dataset.json": {"images": KARPATHY}},
            "Flickr8k tokens": {
                "tokens.txt": lines(*(f"{a}#0\t{b}" for a, b in zip(NAMES, SENTENCES)))
            },
            "CSV": {"captions.csv": table(";", ("image", "caption"), NAMES, SENTENCES)},
            "TSV": {"captions.tsv": table("\t", ("image", "caption"), NAMES, SENTENCES)},
            "JSON lines": {"metadata.jsonl": json_lines("file_name", "text", NAMES, SENTENCES)},
            "JSON records": {
                "all.json": [{"image": a, "caption": b} for a, b in zip(NAMES, SENTENCES)]
            },
            "a text file beside each picture": {
                f"images/{name[:2]}.txt": text for name, text in zip(NAMES, SENTENCES)
            },
            "WebDataset": {
                "00000.tar": tar(
                    {
                        name: content
                        for n in range(COUNT)
                        for name, content in (
                            (f"{n}.jpg", jpeg(n)),
                            (f"{n}.txt", SENTENCES[n].encode()),
                        )
                    }
                )
            },
            "parquet": {"data/0.parquet": parquet(image=STRUCTS, text=SENTENCES)},
        },
    ),
    "labeled pictures": (
        LabeledPictures(),
        {
            "a folder for each class": {
                f"{kind}/{name}": jpeg(place)
                for place, (kind, name) in enumerate(zip(KINDS, NAMES))
            },
            "CSV": {"labels.csv": table("|", ("image ", " label"), NAMES, KINDS)},
            "TSV": {"labels.tsv": table("\t", ("image", "label"), NAMES, KINDS)},
            "JSON lines": {"metadata.jsonl": json_lines("file_name", "label", NAMES, KINDS)},
            "JSON records": {"all.json": [{"image": a, "label": b} for a, b in zip(NAMES, KINDS)]},
            "WebDataset": {
                "00000.tar": tar(
                    {
                        name: content
                        for n in range(COUNT)
                        for name, content in ((f"{n}.jpg", jpeg(n)), (f"{n}.cls", b"%d" % (n % 2)))
                    }
                )
            },
            "parquet": {"0.parquet": parquet(img=STRUCTS, label=KINDS)},
        },
    ),
    "pairs of texts": (
        TextPairs(**SIDES),
        {
            "parallel text": {"train.en": lines(*SENTENCES), "train.de": lines(*GERMAN)},
            "TSV without a header": {"fra.txt": table("\t", None, SENTENCES, GERMAN)},
            "CSV": {"pairs.csv": table(",", ("en", "de"), SENTENCES, GERMAN)},
            "TSV": {"pairs.tsv": table("\t", ("en", "de"), SENTENCES, GERMAN)},
            "JSON lines": {"pairs.jsonl": json_lines("en", "de", SENTENCES, GERMAN)},
            "JSON records": {
                "pairs.json": [{"translation": {"en": text, "de": "Hund"}} for text in SENTENCES]
            },
            "TMX": {"memory.tmx": f"<tmx><body>{UNITS}</body></tmx>"},
            "parquet": {
                "data/train-0.parquet": parquet(
                    translation=[{"en": text, "de": "Hund"} for text in SENTENCES]
                )
            },
        },
    ),
    "labeled texts": (
        LabeledTexts(),
        {
            "a folder for each class": {
                f"{kind}/{place}.txt": text
                for place, (kind, text) in enumerate(zip(KINDS, SENTENCES))
            },
            "CSV": {"all.csv": table(",", ("review", "sentiment"), SENTENCES, KINDS)},
            "TSV": {"all.tsv": table("\t", ("sentence", "label"), SENTENCES, KINDS)},
            "JSON lines": {"all.jsonl": json_lines("text", "label", SENTENCES, KINDS)},
            "JSON records": {
                "all.json": [{"text": a, "label": b} for a, b in zip(SENTENCES, KINDS)]
            },
            "fastText labels": {
                "pets.train": lines(*(f"__label__{b} {a}" for a, b in zip(SENTENCES, KINDS)))
            },
            "parquet": {"train.parquet": parquet(text=SENTENCES, label=KINDS)},
        },
    ),
    "facts with texts": (
        SetsOfFacts(),
        {
            "WebNLG XML": {
                "train/1triples/City.xml": f"<benchmark><entries>{ENTRIES}</entries></benchmark>"
            },
            "CSV": {
                "train.csv": table(
                    ";", ("mr", "ref"), [f"name[{place}]" for place in range(COUNT)], SENTENCES
                )
            },
            "TSV": {"train.tsv": table("\t", ("name", "text"), NAMES, SENTENCES)},
            "JSON lines": {"train.jsonl": json_lines("triples", "text", TRIPLES, SENTENCES)},
            "JSON records": {
                "train.json": [{"triples": a, "text": b} for a, b in zip(TRIPLES, SENTENCES)]
            },
            "parquet": {"train.parquet": parquet(triples=TRIPLES, text=SENTENCES)},
        },
    ),
    "trees": (
        Treebank(),
        {
            "trees in brackets": {
                "train.mrg": lines(*(f"(S (NN {place}))" for place in range(COUNT)))
            }
        },
    ),
}
CASES = [
    (kind, name) for kind, layouts in LAYOUTS.items() for name in (lay.name for lay in layouts)
]


IN_SYSTEMS = [case for case in CASES if "pictures" in case[0] and case[1] not in ("CSV", "parquet")]
"""What decodes pictures takes a second each."""


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(*case, marks=pytest.mark.systems if case in IN_SYSTEMS else ())
        for case in CASES
    ],
)
def test_each_layout_is_read_and_named(kind, name, tmp_path):
    source, examples = EXAMPLES[kind]
    assert source.records == kind
    if name == "TSV without a header":
        source = replace(source, source_column="auto", target_column="auto")
    pictures = PICTURES if "picture" in kind and name not in ("WebDataset", "parquet") else {}
    pictures = {} if name == "a folder for each class" else pictures
    folder = written(tmp_path / "data", pictures | examples[name])
    records = source.read(folder)
    assert sum(map(len, records.splits.values())) == COUNT and not records.skipped
    line = next(line for line in records.lines if line.startswith("read: "))
    assert layout_of(kind, line.removeprefix("read: ")).name == name
    assert f"{len(records.splits['train'])} train" in line and " dev" in line


def test_the_docs_have_all_layouts():
    page = (Path(__file__).parents[2] / "docs" / "your_data.md").read_text(encoding="utf-8")
    for kind in LAYOUTS:
        assert layout_table(kind) in page, kind


def test_archives_are_unpacked_once_and_again_when_they_change(tmp_path, monkeypatch):
    folder = written(tmp_path / "data", {"a.parquet": parquet(text=["x"], label=["y"])})
    first = archives.unpacked(folder)
    monkeypatch.setattr(archives, "_read_parquet", None)
    assert archives.unpacked(folder) == first
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    written(folder, {"a.parquet": parquet(text=["xyz"], label=["y"])})
    assert archives.unpacked(folder) != first


def link(name):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/hosts"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(info)
    return data.getvalue()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.tar": tar({"../0.jpg": b"x"})}, r"Expected files inside .*a\.tar.*'\.\./0\.jpg'"),
        ({"a.tar": tar({"/0.jpg": b"x"})}, r"Expected files inside .*'/0\.jpg'"),
        ({"a.tar": link("0.jpg")}, r"Expected files inside .*a link or device, '0\.jpg'"),
        ({"a.tar": b"nothing" * 99}, r"Expected a whole tar file at .*a\.tar"),
        ({"a.tar": tar({"0.jpg": b"x"})[:700]}, r"Expected (a whole tar file|usable)"),
        ({"a.parquet": b"nothing"}, r"Expected a whole parquet file at .*a\.parquet"),
        (
            {"train-0.tar": tar({"0.jpg": b"x"}), "1.tar": tar({"0.jpg": b"x"})},
            r"all have a split in their names.*Received: 1\.tar",
        ),
    ],
)
def test_archives_that_are_none(files, message, tmp_path):
    folder = written(tmp_path / "data", files)
    with pytest.raises(ValueError, match=message):
        CaptionedPictures().read(folder)
    assert not [*(tmp_path / "cache").glob("*/unpacked/*")]


def test_parquet_without_its_package(tmp_path, monkeypatch):
    folder = written(tmp_path / "data", {"a.parquet": parquet(text=["x"], label=["y"])})
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"Expected pyarrow for parquet .*keras-attn\[parquet\]"):
        LabeledTexts().read(folder)


CAPTIONS = {f"{n}.jpg": jpeg(n) for n in range(3)}


@pytest.mark.parametrize(
    ("source", "files", "message"),
    [
        (
            CaptionedPictures(),
            CAPTIONS | {"c.csv": "image,caption,lang\n0.jpg,a dog,en\n1.jpg,ein Hund,de\n"},
            r"one language in .*c\.csv \(set --language\)\. Received: de, en",
        ),
        (
            CaptionedPictures(language="fr"),
            CAPTIONS | {"c.csv": "image,caption,lang\n0.jpg,a dog,en\n1.jpg,ein Hund,de\n"},
            r"the language 'fr' in .*Received: de, en",
        ),
        (
            CaptionedPictures(),
            CAPTIONS | {"c.csv": "image,a,b\n0.jpg,one red dog,two red dogs\n"},
            r"column named caption, .*\(set --caption-column\)\. Received: image, a, b",
        ),
        (
            TextPairs(source_column="en", target_column="de"),
            {"train.en": "a\n", "train.de": "b\n", "dev.csv": "en,de\nx,y\n"},
            r"one layout of pairs in .*train\.en, train\.de beside dev\.csv",
        ),
        (
            TextPairs(),
            {"train.tsv": "source\ttarget\na\tb\n", "dev.tsv": "hi there\tsalut\n"},
            r"all have a header, or none .*train\.tsv with one, dev\.tsv without",
        ),
        (
            TextPairs(),
            {"a.csv": "source,target,split\na,b,train\nc,d,\n"},
            r"one whose pairs all name theirs.*with the splits none, train",
        ),
        (
            LabeledTexts(),
            {f"{s}/{c}/1.txt": "x" for s in ("train", "test") for c in ("a", "b")}
            | {"train/c/1.txt": "x"},
            r"same class folders in the splits .*c in train alone",
        ),
        (
            SetsOfFacts(language="fr"),
            {"train.xml": f"<benchmark>{ENTRIES}</benchmark>"},
            r"the language 'fr' in .*Received: en",
        ),
    ],
)
def test_each_fault_has_its_line(source, files, message, tmp_path):
    folder = written(tmp_path / "data", files)
    with pytest.raises(ValueError, match=message):
        source.read(folder)


FAULTS = {
    "splits as classes": (
        LabeledPictures(),
        {f"{split}/{n}.jpg": jpeg(n) for split in ("train", "test") for n in range(3)},
        r"at least two classes in .*Received: test, train",
    ),
    "one class": (
        LabeledPictures(),
        {f"images/{n}.jpg": jpeg(n) for n in range(3)},
        r"at least two classes in .*Received: images",
    ),
    "pictures alone in a tar": (
        LabeledPictures(),
        {"a.tar": tar({"cat/0.jpg": jpeg(0)})},
        r"a text, JSON or class beside the picture cat/0 in .*a\.tar",
    ),
    "archives of two sets": (
        LabeledTexts(),
        {f"{name}-train.parquet": parquet(text=["x"], label=["y"]) for name in ("cola", "sst")},
        r"archives of one data set\. Received: cola-train\.parquet, sst-train",
    ),
    "a split beside archives": (
        LabeledTexts(),
        {"train.parquet": parquet(text=["x"], label=["y"]), "dev.json": "[]"},
        r"Expected one layout in .*train\.parquet beside dev\.json",
    ),
    "two columns of pictures": (
        LabeledPictures(),
        {"a.parquet": parquet(mask=STRUCTS[:1], photograph=STRUCTS[1:2], label=["x"])},
        r"one column of pictures or one named image, and mask, photograph",
    ),
    "no header": (
        LabeledPictures(),
        CAPTIONS | {"l.csv": "0.jpg,daisy\n1.jpg,rose\n"},
        r"Expected a column named image.* Received: 0\.jpg, daisy",
    ),
    "labels that are none": (
        LabeledTexts(),
        {"a.csv": "user,tweet\n" + "".join(f"user{n},a long text {n}\n" for n in range(5))},
        r"column named text, .*Received: user, tweet",
    ),
    "variants of a language": (
        TextPairs(source_column="en", target_column="pt"),
        {
            "a.tmx": "<tmx>"
            + "".join(
                f"<tu><tuv lang='en'><seg>x</seg></tuv><tuv lang='{own}'><seg>y</seg></tuv></tu>"
                for own in ("pt-BR", "pt-PT")
            )
            + "</tmx>"
        },
        r"one variant of pt in .*Received: pt-br, pt-pt",
    ),
    "one column of texts": (
        TextPairs(),
        {"a.tsv": "1\ten\tsome text\n2\ten\tmore text\n"},
        r"two columns with texts in .*\(set --columns\)",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_cannot_be_told_is_refused(name, tmp_path):
    source, files, message = FAULTS[name]
    folder = written(tmp_path / "data", files)
    with pytest.raises(ValueError, match=message):
        source.read(folder)


def told(source, folder, files):
    records = source.read(written(folder, files))
    return {
        getattr(item, "source", None) or item.name: getattr(item, "target", None) or item.label
        for own in records.splits.values()
        for item in own
    }


def test_what_lies_beside_texts_is_no_text(tmp_path):
    """An index, a language in each row, scores; two texts of a unit are two pairs."""
    rows = "".join(f"{n},a text of {n},{'xy'[n % 2]}\n" for n in range(4))
    found = told(LabeledTexts(), tmp_path / "a", {"a.csv": f"Unnamed: 0,msg,kind\n{rows}"})
    assert found == {f"a text of {n}": "xy"[n % 2] for n in range(4)}
    rows = "".join(f"en\ttext {n}\tde\tText {n}\n" for n in range(4))
    found = told(TextPairs(), tmp_path / "b", {"train.tsv": rows})
    assert found == {f"text {n}": f"Text {n}" for n in range(4)}
    seg = "<tuv lang='{}'><seg>{}</seg></tuv>".format
    unit = f"<tu>{seg('en', 'a')}{seg('de', 'b')}{seg('de', 'c')}</tu>"
    unit += f"<tu>{seg('en', 'd')}{seg('de', 'e')}</tu>"
    files = {"a.tmx.gz": gzip.compress(f"<tmx xmlns='urn:x'>{unit}</tmx>".encode())}
    records = TextPairs(**SIDES).read(written(tmp_path / "c", files))
    pairs = [(pair.source, pair.target) for own in records.splits.values() for pair in own]
    assert sorted(pairs) == [("a", "b"), ("a", "c"), ("d", "e")]


def test_splits_of_pictures_in_their_own_files_and_folders(tmp_path):
    names = {"train": NAMES[:7], "val": NAMES[7:10], "test": NAMES[10:]}
    tables = {
        f"{split}.csv": "image,label\n" + "".join(f"{name},x{name[1]}\n" for name in own)
        for split, own in names.items()
    }
    hub = {
        f"{split}/metadata.csv": "file_name,label\n" + "".join(f"{name},a\n" for name in own)
        for split, own in names.items()
    }
    hub |= {
        f"{split}/{name}": jpeg(n) for split, own in names.items() for n, name in enumerate(own)
    }
    for number, files in enumerate((PICTURES | tables, hub)):
        splits = LabeledPictures().read(written(tmp_path / f"{number}", files)).splits
        assert {name: len(own) for name, own in splits.items()} == {"train": 7, "dev": 3, "test": 3}
    lines = LabeledPictures().read(tmp_path / "1").lines
    assert "3 of the pictures of dev are in train, too" in lines


def test_a_split_in_parquet_goes_before_the_name(tmp_path):
    columns = {"text": [f"x {n}" for n in range(5)], "label": ["a", "b", "a", "b", None]}
    columns["split"] = ["train", "train", "train", "val", "val"]
    folder = written(tmp_path / "data", {"train.parquet": parquet(**columns)})
    source = LabeledTexts()
    records = replace(source, shares=replace(source.shares, tolerance=0.5)).read(folder)
    assert {name: len(own) for name, own in records.splits.items()} == {
        "train": 3,
        "dev": 1,
        "test": 0,
    }


def test_samples_of_a_tar_that_share_a_name(tmp_path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for n in range(13):
            for name, content in ((f"v1.{n}.jpg", jpeg(n)), (f"v1.{n}.txt", b"a dog")):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    folder = written(tmp_path / "data", {"0.tar": data.getvalue()})
    assert sum(map(len, CaptionedPictures().read(folder).splits.values())) == 13


def test_marks_of_records_are_used(tmp_path):
    rows = [
        {
            "image": "0.jpg",
            "caption": "a dog",
            "lang": "en",
            "is_rejected": False,
            "split": "train",
        },
        {
            "image": "1.jpg",
            "caption": "blurred",
            "lang": "en",
            "is_rejected": True,
            "split": "train",
        },
        {"image": "1.jpg", "caption": "ein Hund", "lang": "de", "is_rejected": False, "split": "x"},
        {"image": "2.jpg", "caption": "a cat", "lang": "en", "split": "val"},
    ]
    folder = written(tmp_path / "data", CAPTIONS | {"c.jsonl": lines(*map(json.dumps, rows))})
    source = CaptionedPictures(language="en")
    records = replace(source, shares=replace(source.shares, tolerance=0.5)).read(folder)
    assert {name: [p.captions for p in own] for name, own in records.splits.items()} == {
        "train": [("a dog",)],
        "dev": [("a cat",)],
    }
    assert [skip.reason for skip in records.skipped] == ["marked is_rejected='true'"]


def test_unlabeled_texts_are_left_out_by_name(tmp_path):
    folders = ("train/pos", "train/neg", "train/unsup", "test/pos", "test/neg")
    folder = written(
        tmp_path, {f"{name}/{n}.txt": f"{name} {n}" for name in folders for n in range(9)}
    )
    records = LabeledTexts().read(folder)
    assert {pair.target for own in records.splits.values() for pair in own} == {"pos", "neg"}
    assert "a folder for each class, unsup left out" in records.lines[0]


def test_webnlg_in_json_and_tables_of_totto(tmp_path):
    released = {
        "entries": [
            {
                "1": {
                    "category": "City",
                    "modifiedtripleset": [{"subject": "A", "property": "b", "object": "C"}],
                    "lexicalisations": [
                        {"lex": "It is so.", "lang": "en", "comment": "good"},
                        {"lex": "Er", "lang": "ru", "comment": "good"},
                        {"lex": "Not so.", "lang": "EN", "comment": "bad"},
                    ],
                }
            }
        ]
    }
    hub = {
        "modified_triple_sets": {"mtriple_set": [["A | b | C"]]},
        "lex": {"text": ["It is so."], "lang": ["en"], "comment": ["good"]},
    }
    cells = [{"value": text, "is_header": head} for text, head in (("Year", True), ("Club", True))]
    data = [{"value": text, "is_header": False} for text in ("1990", "Rovers")]
    totto = {
        "table_page_title": "Kim Hart",
        "table": [cells, data],
        "highlighted_cells": [[1, 0], [1, 1]],
        "sentence_annotations": [{"final_sentence": "Hart joined Rovers in 1990."}],
    }
    files = {
        "train.json": released,
        "dev.jsonl": lines(json.dumps(hub)),
        "x.jsonl": json.dumps(totto),
    }
    source = SetsOfFacts(language="en")
    source = replace(source, shares=replace(source.shares, tolerance=0.5))
    folder = written(tmp_path, files)
    for name in ("train", "dev"):
        (read,) = source.split(folder, name)
        assert (read.facts, read.texts) == ((("A", "b", "C"),), ("It is so.",))
    (skip,) = source.read(folder).skipped
    assert skip.reason == "record 0: a text marked 'bad'"
    (read,) = replace(source, language="auto").split(folder, "x")
    assert read.facts == (("Kim Hart", "Year", "1990"), ("Kim Hart", "Club", "Rovers"))
