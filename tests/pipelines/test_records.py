"""Readers and splits: what is good is kept, what is not is counted with its place."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from keras_attn_pipelines.data.picture_splits import split_pictures
from keras_attn_pipelines.data.readers.picture_kinds import read_captions
from keras_attn_pipelines.tasks.captioning import CaptionedPictures


def write_folder(folder, rows, pictures=("a.png", "b.png", "c.png"), header="image,caption"):
    (folder / "images").mkdir(parents=True)
    for index, name in enumerate(pictures):
        pixels = np.full((5, 7, 3), 3 * index, "uint8")
        Image.fromarray(pixels).save(folder / "images" / name)
    (folder / "captions.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return folder


def test_pictures_and_their_captions(tmp_path):
    rows = ["b.png,Two dogs .", 'a.png,"One, dog"', "b.png,  two \u00a0 animals"]
    captions = read_captions(write_folder(tmp_path / "d", rows))
    assert [(picture.name, picture.captions) for picture in captions.pictures] == [
        ("b.png", ("Two dogs .", "two animals")),
        ("a.png", ("One, dog",)),
    ]
    assert captions.records == 3 and not captions.skipped


def test_bad_rows_are_listed_with_line_and_reason(tmp_path):
    rows = ["a.png,good", "b.png,", ",words", "x.png,words", "../../etc/passwd,words", "c.png"]
    folder = write_folder(tmp_path / "d", rows)
    captions = read_captions(folder)
    reasons = [(value.line, value.reason) for value in captions.skipped]
    assert reasons == [
        (3, "empty caption"),
        (4, "no picture named"),
        (5, f"no picture at {folder / 'images' / 'x.png'}"),
        (6, "the path '../../etc/passwd' is outside the folder"),
        (7, "empty caption"),
    ]
    captions.check(0.9)
    with pytest.raises(ValueError, match=r"at most 1.0% unusable records. Received: 5 of 6"):
        captions.check(0.01)


def test_a_comma_without_quotes_cuts_no_caption_short(tmp_path):
    rows = ["a.png,a red circle, and a blue square", "b.png,good"]
    captions = read_captions(write_folder(tmp_path / "d", rows))
    assert [(value.line, value.reason) for value in captions.skipped] == [
        (2, "3 values for 2 columns; ',' without quotes?")
    ]
    assert [picture.name for picture in captions.pictures] == ["b.png"] and captions.records == 2


def test_a_quote_that_is_never_closed_swallows_no_rows(tmp_path):
    folder = write_folder(tmp_path / "d", ["a.png,good", 'b.png,"open', "c.png,good"])
    with pytest.raises(ValueError, match=r"Expected CSV in .*captions.csv.*, after line 2"):
        read_captions(folder)


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    folder = write_folder(tmp_path / "d", [])
    (folder / "captions.csv").write_bytes("\ufeffimage,caption\r\na.png,élan\r\n".encode())
    assert read_captions(folder).pictures[0].captions == ("élan",)


def test_unusable_files(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        read_captions(tmp_path)
    folder = write_folder(tmp_path / "a", ["zzz.png,x"], header="thing,caption")
    with pytest.raises(ValueError, match=r"Expected a column named image, .*: thing, caption"):
        read_captions(folder)
    folder = write_folder(tmp_path / "b", ["x.png,x"])
    with pytest.raises(ValueError, match=r"Received: none\n.*captions.csv:2: no picture at"):
        read_captions(folder)


def many(tmp_path, count=60, alike=7):
    """A folder in which the first `alike` pictures have the same bytes."""
    names = [f"{index:03d}.png" for index in range(count)]
    folder = write_folder(tmp_path / "d", [f"{name},words" for name in names], names)
    for index, name in enumerate(names):
        pixels = np.full((5, 7, 3), 0 if index < alike else index, "uint8")
        Image.fromarray(pixels).save(folder / "images" / name)
    return folder


def names_of(split):
    return {name: [record.name for record in records] for name, records in split.items()}


def test_automatic_split_is_stable_and_keeps_duplicates_together(tmp_path):
    folder = many(tmp_path)
    captions = read_captions(folder)
    split = names_of(split_pictures(folder, captions, 0.2, 0.2))
    assert sorted(name for names in split.values() for name in names) == [
        picture.name for picture in captions.pictures
    ]
    assert all(split.values())
    alike = {f"{index:03d}.png" for index in range(7)}
    assert sum(bool(alike & set(names)) for names in split.values()) == 1
    fewer = replace(captions, pictures=captions.pictures[:40])
    fewer = names_of(split_pictures(folder, fewer, 0.2, 0.2))
    for name, members in fewer.items():
        assert set(members) <= set(split[name])


def test_split_files_decide(tmp_path):
    folder = many(tmp_path)
    captions = read_captions(folder)
    (folder / "train_images.txt").write_text("003.png\n001.png\n")
    (folder / "dev.txt").write_text("004.png\n\n")
    split = names_of(split_pictures(folder, captions))
    assert split == {"train": ["003.png", "001.png"], "dev": ["004.png"], "test": []}
    (folder / "dev.txt").write_text("004.png\n003.png\n")
    with pytest.raises(ValueError, match=r"in one split. Received: '003.png'"):
        split_pictures(folder, captions)
    (folder / "dev.txt").write_text("nobody.png\n")
    with pytest.raises(ValueError, match=r"'nobody.png' at .*dev.txt:1"):
        split_pictures(folder, captions)


def test_empty_splits(tmp_path):
    folder = many(tmp_path)
    captions = read_captions(folder)
    split = split_pictures(folder, captions, 0.0, 0.0)
    assert split["dev"] and split["train"]
    with pytest.raises(ValueError, match="split 'train'"):
        split_pictures(folder, replace(captions, pictures=captions.pictures[:7]), 0.0, 0.0)


def test_one_split_alone_can_be_evaluated(tmp_path):
    folder = many(tmp_path)
    (folder / "test.txt").write_text("004.png\n001.png\n")
    names = [picture.name for picture in CaptionedPictures().split(folder, "test")]
    assert names == ["004.png", "001.png"]
    with pytest.raises(ValueError, match="at least one picture in the split 'train'"):
        CaptionedPictures().read(folder)
