"""Readers: every accepted form gives the same folder, every bad record is listed."""

import json
import sys
import types

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from pipelines.captioning import CaptioningRecipe
from pipelines.picture_check import check_pictures
from pipelines.records import read_captions, split_pictures
from pipelines.user_cache import user_cache

EXPECTED = [("a.png", ("A red dog.", "Ein „großer“ Hund")), ("b.png", ("two cats",))]
PAIRS = [(name, caption) for name, captions in EXPECTED for caption in captions]


def pictures(folder, names=("a.png", "b.png")):
    folder.mkdir(parents=True, exist_ok=True)
    for index, name in enumerate(names):
        Image.fromarray(np.full((5, 7, 3), 23 * index, "uint8")).save(folder / name)
    return folder


def table(header, delimiter):
    rows = [header, *PAIRS]
    return "".join(delimiter.join(f'"{one}"' for one in row) + "\n" for row in rows)


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
    found = read_captions(folder, **options)
    assert not found.skipped
    return [(one.name, one.captions) for one in found.pictures]


@pytest.mark.parametrize("where", ["images", "."])
def test_forms(where, tmp_path):
    for name, (text, form) in FORMS.items():
        folder = tmp_path / form / name
        pictures(folder / where)
        (folder / name).write_text(text, encoding="utf-8")
        found = read_captions(folder)
        assert (found.source, found.form, found.records) == (folder / name, form, 3)
        assert [one.path for one in found.pictures] == [folder / where / one for one, _ in EXPECTED]
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
    found = read_captions(tmp_path)
    assert found.pictures[-1].name == "deeper/c.JPG" and len(found.pictures[-1].captions) == 2
    assert [str(one).removeprefix(f"{folder}/") for one in found.skipped] == [
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
    with pytest.raises(ValueError, match=r"Expected a column 'name' in .*Received: \['image'"):
        read_captions(tmp_path, "x.csv", image_column="name")


def skipped_of(folder, file, data):
    (folder / file).write_bytes(data)
    found = read_captions(folder, file)
    assert len(found.skipped) + sum(len(one.captions) for one in found.pictures) == found.records
    assert all(one.file == folder / file for one in found.skipped)
    return [(one.line, one.reason) for one in found.skipped], found


def test_bad_rows(tmp_path):
    pictures(tmp_path / "images")
    data = b"\n".join(
        [
            b"image,caption",
            b"a.png,caf\xe9",
            b"a.png,one, two",
            b'a.png,"good,',
            b'goes on"',
            b'a.png,"unclosed',
            b"b.png,kept",
            b"",
            b"b.png",
            b'b.png,"kept"',
        ]
    )
    skipped, found = skipped_of(tmp_path, "x.csv", data)
    assert [line for line, _ in skipped] == [2, 3, 6, 9]
    reasons = [reason for _, reason in skipped]
    assert reasons[0] == "not UTF-8" and reasons[1].startswith("3 values for 2 columns")
    assert reasons[2].startswith("malformed row") and reasons[3] == "empty caption"
    assert [one.captions for one in found.pictures] == [("good, goes on",), ("kept", "kept")]


def test_bad_json_lines(tmp_path):
    pictures(tmp_path / "images")
    rows = [
        b'{"image": "a.png", "captions": ["good", " ", 3, "good too"]}',
        b'{"image": "a.png", "caption": "x"',
        b"[" * 100000,
        b'["a.png", "x"]',
        b'{"image": "a.png"}',
        b'{"image": 5, "caption": "x"}',
        b'{"image": "a.png", "caption": "caf\xe9"}',
        b'{"image": "a.png", "caption": "\\ud800"}',
        b'{"image": "a.png", "captions": []}',
        b'{"image": "a\\u0000.png", "caption": "x"}',
        b'{"image": "' + b"a" * 5000 + b'", "caption": "x"}',
    ]
    skipped, found = skipped_of(tmp_path, "x.jsonl", b"\n".join(rows))
    assert [line for line, _ in skipped] == [1, 1, *range(2, 12)]
    parts = ["empty", "no text", "malformed", "malformed", "object", "no caption", "no picture"]
    parts += ["not UTF-8", "not UTF-8", "no caption", "no picture", "no picture"]
    assert all(part in reason for part, (_, reason) in zip(parts, skipped))
    assert found.pictures[0].captions == ("good", "good too")


def test_bad_coco(tmp_path):
    pictures(tmp_path / "images")
    value = {
        "images": [{"id": 1, "file_name": "a.png"}, 5, {"id": 2, "file_name": "b.png"}],
        "annotations": [
            {"image_id": 1, "caption": "good"},
            {"image_id": 9, "caption": "x"},
            {"image_id": 1},
            "x",
        ],
    }
    skipped, _ = skipped_of(tmp_path, "x.json", json.dumps(value).encode())
    assert [reason.split(":")[0] for _, reason in skipped] == [
        "annotation 1",
        "annotation 2",
        "annotation 3",
        "image 1",
        "image 2",
    ]
    with pytest.raises(ValueError, match="Expected JSON in"):
        skipped_of(tmp_path, "x.json", b'{"images": [')


def test_bad_token_lines(tmp_path):
    pictures(tmp_path / "images")
    data = b"a.png#0\tgood\na.png\tx\na.png#1\t\xff\n\na.png#2\t\n"
    skipped, _ = skipped_of(tmp_path, "x.token", data)
    assert [line for line, _ in skipped] == [2, 3, 5]


def test_bad_pictures(tmp_path):
    folder = pictures(tmp_path / "images", ["a.png", "b.png", "cut.jpg", "huge.png"])
    data = (folder / "cut.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(data[:-40])
    (folder / "page.jpg").write_bytes(b"<!DOCTYPE html><html></html>")
    (folder / "empty.jpg").write_bytes(b"")
    huge = bytearray((folder / "huge.png").read_bytes())
    huge[16:24] = (30000).to_bytes(4, "big") * 2
    (folder / "huge.png").write_bytes(huge)
    (folder / "folder.jpg").mkdir()
    (tmp_path / "secret.png").symlink_to(pictures(tmp_path.parent / "other") / "a.png")
    names = ["a.png", "cut.jpg", "page.jpg", "cut.jpg", "empty.jpg", "huge.png", "folder.jpg"]
    names += ["none.jpg", "../../other/a.png", "/etc/passwd", "secret.png", "b.png"]
    rows = "".join(f"{name},x\n" for name in names)
    skipped, found = skipped_of(tmp_path, "x.csv", f"image,caption\n{rows}".encode())
    assert [one.name for one in found.pictures] == ["a.png", "b.png"]
    assert [line for line, _ in skipped] == list(range(3, 13))
    parts = ["truncated", "not a JPEG", "truncated", "zero bytes", "30000x30000 pixels"]
    parts += ["no picture", "no picture", "leads out", "leads out", "leads out"]
    assert all(part in reason for part, (_, reason) in zip(parts, skipped))
    with pytest.raises(ValueError, match=r"Received: 10 of 12:(?s:.*)x\.csv:4: .*not a JPEG"):
        found.check(0.01)


def test_training_stops_before_it_starts(tmp_path, capsys):
    folder = pictures(tmp_path / "images", [f"{index:02}.png" for index in range(11)])
    rows = "".join(f"{index:02}.png,x\n" for index in range(11))
    (tmp_path / "c.csv").write_text(f"image,caption\n{rows}")
    splits, _ = CaptioningRecipe().read(tmp_path)
    assert sum(map(len, splits.values())) == 11
    assert f"captions: {tmp_path / 'c.csv'} (CSV)" in capsys.readouterr().out
    (folder / "07.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r"1 of 11:\n  .*c.csv:9: .*zero bytes"):
        CaptioningRecipe().read(tmp_path)
    for path in folder.iterdir():
        path.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"usable records in .*none\n  .*c.csv:2: .*not a JPEG"):
        CaptioningRecipe().read(tmp_path)


def test_verdicts_are_kept_until_the_file_changes(tmp_path, monkeypatch):
    folder, cache = pictures(tmp_path / "images"), tmp_path / "verdicts"
    paths = sorted(folder.iterdir())
    assert check_pictures(paths, tmp_path, cache) == {}
    asked = []
    monkeypatch.setattr(
        "pipelines.picture_check._decode_all",
        lambda paths: asked.extend(paths) or dict.fromkeys(paths, "bad"),
    )
    assert check_pictures(paths, tmp_path, cache) == {} and not asked
    paths[1].write_bytes(b"changed")
    assert check_pictures(paths, tmp_path, cache) == {paths[1]: "bad"} and asked == [paths[1]]
    assert check_pictures(paths, tmp_path, cache) == {paths[1]: "bad"} and asked == [paths[1]]
    for store in cache.iterdir():
        store.write_text("damaged")
    assert check_pictures(paths, tmp_path, cache) == dict.fromkeys(paths, "bad")


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
        one = {"image": self.data[index], "captions": {"text": texts}}
        return tf.data.Dataset.from_tensors(one)


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
    found = read_captions("tfds:toy/small")
    assert [one.captions for one in found.pictures][1] == ("val one", "val two")
    assert [one.path.read_bytes() for one in found.pictures] == data
    assert found.pictures[1].path.suffix == ".jpg"
    split = split_pictures("tfds:toy/small", found.pictures)
    assert {key: len(own) for key, own in split.items()} == {"train": 1, "dev": 1, "test": 1}
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    assert read_captions("tfds:toy/small").pictures == found.pictures
    assert [one.name for one in (user_cache() / "tfds").iterdir()] == ["toy-small"]
