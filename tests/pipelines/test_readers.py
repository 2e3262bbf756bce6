"""Readers: every accepted form gives the same folder."""

import json
import sys
import types

import pytest
import tensorflow as tf

from keras_attn_pipelines.data.picture_splits import split_pictures
from keras_attn_pipelines.data.readers.picture_kinds import read_captions
from keras_attn_pipelines.data.user_cache import user_cache
from tests.pipelines.picture_folder import pictures

EXPECTED = [("a.png", ("A red dog.", "Ein „großer“ Hund")), ("b.png", ("two cats",))]
PAIRS = [(name, caption) for name, captions in EXPECTED for caption in captions]


def table(header, delimiter):
    rows = [header, *PAIRS]
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in rows)


def coco():
    images = [{"id": 7, "file_name": "a.png"}, {"id": 3, "file_name": "b.png"}]
    ids = {"a.png": 7, "b.png": 3}
    annotations = [
        {"id": index, "image_id": ids[name], "caption": caption}
        for index, (name, caption) in enumerate(PAIRS)
    ]
    return json.dumps({"info": {}, "images": images, "annotations": annotations})


def lines(image, caption):
    return "".join(json.dumps({image: name, caption: text}) + "\n" for name, text in PAIRS)


def listed():
    return [{"file": name, "captions": list(captions)} for name, captions in EXPECTED]


FORMS = {
    "captions.csv": (table(("image", "caption"), ","), "CSV"),
    "captions.tsv": (table(("Path", "Text"), "\t"), "TSV"),
    "captions.jsonl": (lines("image", "caption"), "JSON lines"),
    "many.jsonl": ("\n".join(map(json.dumps, listed())), "JSON lines"),
    "metadata.jsonl": (lines("file_name", "text"), "JSON lines"),
    "metadata.csv": (table(("file_name", "text"), ","), "CSV"),
    "captions_train.json": (coco(), "COCO captions"),
    "list.json": (json.dumps(listed()), "JSON records"),
    "Flickr8k.token.txt": (
        "a.png#0\tA red dog.\na.png#1\tEin „großer“ Hund\nb.png#0\ttwo cats\n",
        "Flickr8k tokens",
    ),
    "captions.txt": (table(("image", "caption"), ","), "CSV"),
}


def found_in(folder, **options):
    captioned = read_captions(folder, **options)
    assert not captioned.skipped
    return [(picture.name, picture.captions) for picture in captioned.pictures]


@pytest.mark.parametrize("where", ["images", "."])
def test_forms(where, tmp_path):
    for name, (text, form) in FORMS.items():
        folder = tmp_path / form / name
        pictures(folder / where)
        (folder / name).write_text(text, encoding="utf-8")
        captioned = read_captions(folder)
        assert (captioned.source, captioned.form, captioned.records) == (folder / name, form, 3)
        assert [picture.path for picture in captioned.pictures] == [
            folder / where / file for file, _ in EXPECTED
        ]
        assert found_in(folder) == found_in(folder / name) == EXPECTED
        assert found_in(folder, captions_file=name) == EXPECTED
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert found_in(folder) == EXPECTED


@pytest.mark.parametrize("where", ["images", "."])
def test_sidecars(where, tmp_path):
    folder = pictures(tmp_path / where)
    (folder / "a.txt").write_bytes("\ufeffA red dog.\r\n\r\nEin „großer“ Hund\r\n".encode())
    (folder / "b.txt").write_text("two cats")
    (tmp_path / "train.txt").write_text("a.png\n")
    assert found_in(tmp_path) == EXPECTED
    pictures(folder / "deeper", ["c.JPG", "d.png"])
    (folder / "deeper" / "c.txt").write_bytes(b"fine\n\xff\xfe\nfine too")
    (folder / "b.txt").write_text("\n \n")
    captioned = read_captions(tmp_path)
    last = captioned.pictures[-1]
    assert last.name == "deeper/c.JPG" and len(last.captions) == 2
    assert [str(skip).removeprefix(f"{folder}/") for skip in captioned.skipped] == [
        "b.txt:1: empty caption",
        "deeper/c.txt:2: not UTF-8",
        "deeper/d.png: no text file with captions beside it",
    ]


def test_which_file(tmp_path):
    with pytest.raises(ValueError, match=r"Expected a caption file at .*no such file or folder"):
        read_captions(tmp_path / "nowhere")
    pictures(tmp_path / "images")
    (tmp_path / "scores.csv").write_text("image,score\na.png,3\n")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "boxes.json").write_text('{"a.png": [1, 2]}')
    (tmp_path / "log.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(ValueError, match=r"(?s)boxes\.json.*broken\.json.*log\.json"):
        read_captions(tmp_path)
    (tmp_path / "captions.csv").write_text(FORMS["captions.csv"][0], encoding="utf-8")
    assert read_captions(tmp_path).source == tmp_path / "captions.csv"
    (tmp_path / "more.jsonl").write_text('{"image": "a.png", "caption": "x"}\n')
    with pytest.raises(ValueError, match=r"one caption file .* Received: captions.csv, more.jsonl"):
        read_captions(tmp_path)
    assert found_in(tmp_path, captions_file="more.jsonl") == [("a.png", ("x",))]
    with pytest.raises(ValueError, match=r"none\.csv. Received: no such file"):
        read_captions(tmp_path, "none.csv")


def test_named_columns_and_folder(tmp_path):
    pictures(tmp_path / "photos")
    (tmp_path / "x.csv").write_text("image,picture,caption,title\nb.png,a.png,no,yes\n")
    options = {"image_column": "picture", "caption_column": "title", "image_folder": "photos"}
    assert found_in(tmp_path, **options) == [("a.png", ("yes",))]
    assert found_in(tmp_path, image_folder="photos") == [("b.png", ("no",))]
    with pytest.raises(ValueError, match=r"Expected a column named 'name' in .*Received: image"):
        read_captions(tmp_path, "x.csv", image_column="name")


class FakeBuilder:
    """The part of a tensorflow-datasets builder that is used."""

    def __init__(self, name, data):
        assert name == "toy/small"
        self.data, self.prepared = data, False
        self.info = types.SimpleNamespace(
            features={"image": None, "image/filename": None, "captions": {"text": None}},
            splits={"train": None, "val": None, "test": None},
        )

    def download_and_prepare(self):
        self.prepared = True

    def as_dataset(self, split, decoders, shuffle_files):
        assert self.prepared and decoders == {"image": "skipped"} and not shuffle_files
        index = ["train", "val", "test"].index(split)
        texts = [f"{split} one", f"{split} two"]
        example = {"image": self.data[index], "captions": {"text": texts}}
        return tf.data.Dataset.from_tensors(example)


def test_tensorflow_datasets(tmp_path, monkeypatch):
    folder = pictures(tmp_path / "source", ["0.png", "1.jpg", "2.png"])
    data = [path.read_bytes() for path in sorted(folder.iterdir())]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'keras-attn\[tfds\]'"):
        read_captions("tfds:toy/small")
    fake = types.SimpleNamespace(
        builder=lambda name: FakeBuilder(name, data),
        decode=types.SimpleNamespace(SkipDecoding=lambda: "skipped"),
    )
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    captioned = read_captions("tfds:toy/small")
    assert [picture.captions for picture in captioned.pictures][1] == ("val one", "val two")
    assert [picture.path.read_bytes() for picture in captioned.pictures] == data
    assert captioned.pictures[1].path.suffix == ".jpg"
    split = split_pictures("tfds:toy/small", captioned)
    assert {key: len(own) for key, own in split.items()} == {"train": 1, "dev": 1, "test": 1}
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    assert read_captions("tfds:toy/small").pictures == captioned.pictures
    assert [entry.name for entry in (user_cache() / "tfds").iterdir()] == ["toy-small"]
