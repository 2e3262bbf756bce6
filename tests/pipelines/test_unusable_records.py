"""What cannot be used is skipped, counted and listed; too much of it stops training."""

import hashlib
import json

import pytest
import tensorflow as tf

from keras_attn_pipelines.data.picture_check import (
    FORMAT,
    Examined,
    examine_pictures,
    naming_pictures,
)
from keras_attn_pipelines.data.picture_splits import picture_records, split_pictures
from keras_attn_pipelines.data.readers.picture_kinds import read_captions
from keras_attn_pipelines.experiment import SplitShares
from keras_attn_pipelines.tasks.captioning import CaptionedPictures
from tests.images.encoded_pictures import KINDS
from tests.pipelines.picture_folder import pictures


def skipped_of(folder, file, data):
    (folder / file).write_bytes(data)
    captions = read_captions(folder, file)
    assert (
        len(captions.skipped) + sum(len(picture.captions) for picture in captions.pictures)
        == captions.records
    )
    assert all(value.file == folder / file for value in captions.skipped)
    return [(value.line, value.reason) for value in captions.skipped], captions


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
    skipped, actual = skipped_of(tmp_path, "x.csv", data)
    assert [line for line, _ in skipped] == [2, 3, 6, 9]
    reasons = [reason for _, reason in skipped]
    assert reasons[0] == "not UTF-8" and reasons[1].startswith("3 values for 2 columns")
    assert reasons[2].startswith("malformed row") and reasons[3] == "empty caption"
    assert [picture.captions for picture in actual.pictures] == [
        ("good, goes on",),
        ("kept", "kept"),
    ]


def test_bad_json_lines(tmp_path):
    pictures(tmp_path / "images")
    rows = [
        b'{"image": "a.png", "captions": ["good", " ", {}, "good too"]}',
        b'{"image": "a.png", "caption": "x"',
        b"[" * 100000,
        b'["a.png", "x"]',
        b'{"image": "a.png"}',
        b'{"image": [5], "caption": "x"}',
        b'{"image": "a.png", "caption": "caf\xe9"}',
        b'{"image": "a.png", "caption": "\\ud800"}',
        b'{"image": "a.png", "captions": []}',
        b'{"image": "a\\u0000.png", "caption": "x"}',
        b'{"image": "' + b"a" * 5000 + b'", "caption": "x"}',
    ]
    skipped, actual = skipped_of(tmp_path, "x.jsonl", b"\n".join(rows))
    assert [line for line, _ in skipped] == [1, 1, *range(2, 12)]
    parts = [
        "empty",
        "not a str",
        "malformed",
        "malformed",
        "object",
        "no caption",
        "no picture",
    ]
    parts += ["not UTF-8", "not UTF-8", "no caption", "no picture", "no picture"]
    assert all(part in reason for part, (_, reason) in zip(parts, skipped))
    assert actual.pictures[0].captions == ("good", "good too")


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
    folder = pictures(tmp_path / "images", ["a.png", "b.png", "cut.jpg", "huge.png", "corrupt.png"])
    data = (folder / "cut.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(data[:-40])
    data = bytearray((folder / "corrupt.png").read_bytes())
    data[60] ^= 255
    (folder / "corrupt.png").write_bytes(data)
    (folder / "page.jpg").write_bytes(b"<!DOCTYPE html><html></html>")
    (folder / "empty.jpg").write_bytes(b"")
    huge = bytearray((folder / "huge.png").read_bytes())
    huge[16:24] = (30000).to_bytes(4, "big") * 2
    (folder / "huge.png").write_bytes(huge)
    (folder / "folder.jpg").mkdir()
    (tmp_path / "secret.png").symlink_to(pictures(tmp_path.parent / "other") / "a.png")
    names = ["a.png", "cut.jpg", "page.jpg", "cut.jpg", "empty.jpg", "huge.png", "folder.jpg"]
    names += ["none.jpg", "../../other/a.png", "/etc/passwd", "secret.png"]
    names += ["corrupt.png", "b.png"]
    rows = "".join(f"{name},x\n" for name in names)
    skipped, actual = skipped_of(tmp_path, "x.csv", f"image,caption\n{rows}".encode())
    assert [picture.name for picture in actual.pictures] == ["a.png", "b.png"]
    assert [line for line, _ in skipped] == list(range(3, 14))
    parts = ["truncated", "not a JPEG", "truncated", "zero bytes", "30000x30000 pixels"]
    parts += ["no picture", "no picture", "outside", "outside", "a link", "corrupt"]
    assert all(part in reason for part, (_, reason) in zip(parts, skipped))
    with pytest.raises(ValueError, match=r"Received: 11 of 13:(?s:.*)x\.csv:4: .*not a JPEG"):
        actual.check(0.01)


def test_pictures_cut_short_are_read_and_counted(tmp_path):
    folder = pictures(tmp_path / "images", [f"{place}.jpg" for place in range(7)])
    for place in (2, 5):
        data = (folder / f"{place}.jpg").read_bytes()
        (folder / f"{place}.jpg").write_bytes(data[:-2])
    (tmp_path / "x.csv").write_text("image,caption\n" + "".join(f"{n}.jpg,x\n" for n in range(7)))
    for _ in ("examined", "remembered"):
        captions = read_captions(tmp_path, cache=tmp_path / "examined")
        assert captions.cut == {"2.jpg", "5.jpg"} and not captions.skipped
        records = picture_records(tmp_path, captions, split_pictures)
        assert records.lines[1:] == ["2 pictures are cut short; their last rows are gray"]


@pytest.mark.systems
def test_unusual_pictures_are_usable(tmp_path):
    (tmp_path / "images").mkdir()
    for name, data in KINDS.items():
        (tmp_path / "images" / name).write_bytes(data)
    rows = "".join(f'"{name}",x\n' for name in KINDS)
    (tmp_path / "x.csv").write_text(f"image,caption\n{rows}")
    captions = read_captions(tmp_path)
    assert [picture.name for picture in captions.pictures] == list(KINDS) and not captions.skipped


def test_training_stops_before_it_starts(tmp_path, capsys):
    folder = pictures(tmp_path / "images", [f"{index:02}.png" for index in range(11)])
    rows = "".join(f"{index:02}.png,x\n" for index in range(11))
    (tmp_path / "c.csv").write_text(f"image,caption\n{rows}")
    records = CaptionedPictures().read(tmp_path)
    assert sum(map(len, records.splits.values())) == 11
    assert records.lines == [f"read: CSV, 9 train, 1 dev, 1 test ({tmp_path / 'c.csv'})"]
    (folder / "07.png").write_bytes(b"")
    with pytest.raises(ValueError, match=r"1 of 11:\n  .*c.csv:9: .*zero bytes"):
        CaptionedPictures().read(tmp_path)
    (tmp_path / "c.csv").write_text("image,caption\n" + "00.png,x\n" * 90 + rows)
    records = CaptionedPictures().read(tmp_path)
    assert sum(map(len, records.splits.values())) == 10
    assert [record.line for record in records.skipped] == [99]
    for path in folder.iterdir():
        path.write_bytes(b"x")
    with pytest.raises(ValueError, match=r"usable records in .*none\n  .*c.csv:2: .*not a JPEG"):
        CaptionedPictures().read(tmp_path)


def test_split_files_that_name_skipped_pictures(tmp_path, capsys):
    folder = pictures(tmp_path / "images", ["a.png", "b.png", "c.png", "d.png"])
    (folder / "c.png").write_bytes(b"<html>")
    (tmp_path / "c.csv").write_text("image,caption\na.png,x\nb.png,x\nc.png,x\nd.png,\n")
    (tmp_path / "train.txt").write_text("a.png\nc.png\nd.png\n")
    (tmp_path / "dev.txt").write_text("b.png\n")
    source = CaptionedPictures(shares=SplitShares(tolerance=0.5))
    records = source.read(tmp_path)
    assert [picture.name for picture in records.splits["train"]] == ["a.png"]
    assert [record.name for record in records.skipped] == ["c.png", "d.png"]
    printed = capsys.readouterr().out
    assert f"train.txt:2: 'c.png' was skipped: the picture {folder}" in printed
    assert "c.png is unusable: not a JPEG" in printed
    assert "train.txt:3: 'd.png' was skipped: empty caption" in printed
    (tmp_path / "dev.txt").write_bytes(b"nobod\xff.png\n")
    with pytest.raises(ValueError, match=r"of pictures in the data. Received: 'nobod.*dev.txt:1"):
        source.read(tmp_path)


@pytest.mark.systems
def test_a_picture_that_changes_during_training_is_named(tmp_path):
    paths = sorted(pictures(tmp_path / "images").iterdir())
    names = tf.data.Dataset.from_tensor_slices([str(path) for path in paths])
    dataset = names.map(lambda name: FORMAT.decode(tf.io.read_file(name)))
    with naming_pictures(paths, tmp_path):
        assert len(list(dataset)) == 2
    paths[1].write_bytes(paths[1].read_bytes()[:-30])
    with (
        pytest.raises(ValueError, match=r"they were checked. Received: .*b\.png: .*truncated"),
        naming_pictures(paths, tmp_path),
    ):
        list(dataset)
    paths[1].unlink()
    with (
        pytest.raises(ValueError, match=r"b\.png: cannot be read: No such file"),
        naming_pictures(paths, tmp_path),
    ):
        list(dataset)
    with pytest.raises(tf.errors.NotFoundError), naming_pictures(paths[:1], tmp_path):
        list(dataset)


def test_examinations_are_kept_until_the_file_changes(tmp_path, monkeypatch):
    folder, cache = pictures(tmp_path / "images"), tmp_path / "examined"
    paths = sorted(folder.iterdir())
    sound = examine_pictures(paths, tmp_path, cache)
    assert sound == {
        path: Examined("", hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths
    }
    asked, bad = [], Examined("bad", "")
    monkeypatch.setattr(
        "keras_attn_pipelines.data.picture_check._examine_all",
        lambda paths: asked.extend(paths) or dict.fromkeys(paths, bad),
    )
    assert examine_pictures(paths, tmp_path, cache) == sound and not asked
    paths[1].write_bytes(b"changed")
    changed = {**sound, paths[1]: bad}
    assert examine_pictures(paths, tmp_path, cache) == changed and asked == [paths[1]]
    assert examine_pictures(paths, tmp_path, cache) == changed and asked == [paths[1]]
    for store in cache.iterdir():
        store.write_text("damaged")
    assert examine_pictures(paths, tmp_path, cache) == dict.fromkeys(paths, bad)
