"""Labeled pictures from folders of classes and from files; what cannot be used, and splits."""

import json
import shutil

import pytest

from keras_attn_pipelines.data.picture_splits import split_pictures
from keras_attn_pipelines.data.readers.picture_kinds import CLASS_FOLDERS, read_labels
from keras_attn_pipelines.recipes.vit_classifier import RECIPE
from keras_attn_pipelines.tasks.classification import LabeledPictures
from tests.pipelines.encoded import encoded
from tests.pipelines.labeled_pictures import TINY, write_classes
from tests.pipelines.picture_folder import pictures


def found(data, **columns):
    read = read_labels(data, **columns)
    return {
        picture.name: (picture.label, read.splits[picture.name]) for picture in read.pictures
    }, read


def test_a_folder_for_each_class(tmp_path):
    pictures(tmp_path / "cat", ["b.png", "a.PNG"])
    pictures(tmp_path / "small  dog" / "deeper", ["c.png"])
    pictures(tmp_path / ".thumbnails", ["d.png"])
    pictures(tmp_path, ["e.png"])
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    (tmp_path / "small  dog" / "f.jpg").write_bytes(b"no picture")
    labels, read = found(tmp_path)
    assert labels == {
        "cat/a.PNG": ("cat", ""),
        "cat/b.png": ("cat", ""),
        "small  dog/deeper/c.png": ("small dog", ""),
    }
    assert read.form == CLASS_FOLDERS and read.source == tmp_path and read.records == 5
    reasons = {value.name: value.reason for value in read.skipped}
    assert reasons["e.png"] == "not in a class folder"
    assert "is unusable: " in reasons["small  dog/f.jpg"]
    with pytest.raises(ValueError, match=r"at most 1.0% unusable records. Received: 2 of 5"):
        read.check(0.01)


def test_a_folder_for_each_split(tmp_path):
    data = write_classes(tmp_path, (("train", 1), ("val", 1), ("extra", 1)), ["red", "train"])
    labels, read = found(data)
    assert labels["val/red/0.png"] == ("red", "dev")
    assert labels["train/train/0.png"] == ("train", "train")
    split = split_pictures(data, read)
    assert {name: len(own) for name, own in split.items()} == {"extra": 2, "train": 2, "dev": 2}


def test_dev_is_taken_out_of_train_where_it_has_no_folder(tmp_path):
    data = write_classes(tmp_path, (("train", 13), ("test", 1)), ["red", "blue"])
    split = split_pictures(data, read_labels(data), 0.3, 0.3)
    assert len(split["test"]) == 2 and len(split["train"]) + len(split["dev"]) == 26
    assert 1 <= len(split["dev"]) < 20
    again = split_pictures(data, read_labels(data), 0.3, 0.3)
    assert again == split


def test_classes_without_splits_are_split_by_their_bytes(tmp_path):
    data = write_classes(tmp_path, (("", 7),), ["red", "blue"])
    for index in range(3):
        shutil.copyfile(data / "red" / "0.png", data / "red" / f"again{index}.png")
    split = split_pictures(data, read_labels(data), 0.3, 0.3)
    assert sum(map(len, split.values())) == 17 and split["dev"]
    same = [name for name, own in split.items() for item in own if "again" in item.name]
    assert len(same) == 3 and len(set(same)) == 1


CSV = "image,label\na.png,cat\nb.png, small  dog \na.png,cat\na.png,dog\nc.png,cat\nb.png,\n"
ROWS = [line.split(",") for line in CSV.splitlines()[1:]]
FILES = {
    "labels.csv": CSV,
    "labels.tsv": CSV.replace(",", "\t"),
    "labels.jsonl": "".join(
        json.dumps({"file_name": name, "category": label}) + "\n" for name, label in ROWS
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_labels(name, tmp_path):
    pictures(tmp_path / "images", ["a.png", "b.png"])
    (tmp_path / name).write_text(FILES[name])
    for data in (tmp_path, tmp_path / name):
        labels, read = found(data)
        assert labels == {"a.png": ("cat", ""), "b.png": ("small dog", "")}
        reasons = [value.reason for value in read.skipped]
        assert reasons[0] == "the label 'dog' for a picture of 'cat'"
        assert "no picture at" in reasons[1] and reasons[2] == "empty label"
        assert read.records == 6 and read.source == tmp_path / name


def test_columns_of_other_names_and_split_files(tmp_path):
    pictures(tmp_path, ["a.png", "b.png", "c.png"])
    (tmp_path / "list.csv").write_text("photo,kind,x\na.png,1,5\nb.png,2,5\nc.png,1,5\n")
    (tmp_path / "train.txt").write_text("a.png\nb.png\n")
    (tmp_path / "dev.txt").write_text("c.png\n")
    with pytest.raises(
        ValueError,
        match=r"(?s)Expected a labels file .* folder for each class.*column named label",
    ):
        read_labels(tmp_path)
    read = read_labels(tmp_path, label_column="kind")
    split = split_pictures(tmp_path, read)
    assert [value.label for value in split["train"]] == ["1", "2"] and len(split["dev"]) == 1


def test_several_files_none_and_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"Expected labeled pictures at .* no such file or folder"):
        read_labels(tmp_path / "nowhere")
    (tmp_path / "a.csv").write_text("image,caption,x\nx.png,a dog,y\n")
    with pytest.raises(ValueError, match=r"JSON lines, JSON\) in .*Received:\n.*label, labels"):
        read_labels(tmp_path)
    for name in ("b.csv", "c.csv"):
        (tmp_path / name).write_text("image,label\nx.png,dog\n")
    with pytest.raises(ValueError, match=r"Expected one labels file .*Received: b.csv, c.csv"):
        read_labels(tmp_path)
    with pytest.raises(ValueError, match=r"(?s)Expected usable records .*no picture at"):
        read_labels(tmp_path, labels_file="b.csv")
    with pytest.raises(ValueError, match=r"Expected a labels file at .*d.csv"):
        read_labels(tmp_path, labels_file="d.csv")


@pytest.mark.systems
def test_labels_that_train_does_not_have(tmp_path):
    data = write_classes(tmp_path, (("train", 2), ("dev", 1)), ["red", "blue"])
    pictures(data / "dev" / "emu", ["a.png"])
    _, vocabularies, loaded = encoded(RECIPE.replaced(TINY), data)
    assert vocabularies["labels"].names == ("blue", "red")
    assert [record.label for record in loaded.splits["dev"]] == ["blue", "red"]
    assert [value.reason for value in loaded.skipped] == ["the label 'emu' of dev is not in train"]
    shutil.rmtree(data / "dev" / "red")
    shutil.rmtree(data / "dev" / "blue")
    with pytest.raises(ValueError, match=r"a picture of dev with a label of train. Received: emu"):
        encoded(RECIPE.replaced(TINY), data)


@pytest.mark.systems
def test_one_label_is_no_choice(tmp_path):
    data = write_classes(tmp_path, (("train", 2), ("dev", 1)), ["red"])
    with pytest.raises(ValueError, match=r"pictures of two labels or more. Received: \['red'\]"):
        encoded(RECIPE.replaced(TINY), data)


@pytest.mark.systems
def test_one_split_alone_can_be_evaluated(tmp_path):
    for name in ("cat", "dog"):
        pictures(tmp_path / "test" / name, [f"{name}.png"])
    labels = [picture.label for picture in LabeledPictures().split(tmp_path, "test")]
    assert labels == ["cat", "dog"]
    with pytest.raises(ValueError, match="at least one picture in the split 'train'"):
        LabeledPictures().read(tmp_path)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_names_that_lead_out_of_the_folder(form, tmp_path, monkeypatch):
    data, elsewhere = tmp_path / "data", pictures(tmp_path / "elsewhere", ["a.png"])
    pictures(data, ["own.png"])
    (data / "link.png").symlink_to(elsewhere / "a.png")
    (data / "linked").symlink_to(elsewhere)
    names = ["../elsewhere/a.png", str(elsewhere / "a.png"), "link.png", "linked/a.png", "own.png"]
    rows = [{"image": name, "label": "red"} for name in names]
    separator = "\t" if form == "tsv" else ","
    lines = [separator.join(row.values()) for row in [{"image": "image", "label": "label"}, *rows]]
    lines = [json.dumps(row) for row in rows] if form == "jsonl" else lines
    (data / f"labels.{form}").write_text("\n".join(lines))
    labels, read = found(data, labels_file=f"labels.{form}")
    assert list(labels) == ["own.png"]
    link = "a link that leads out of the folder (set KERAS_ATTN_FOLLOW_LINKS=1 to allow it)"
    assert [value.reason for value in read.skipped] == [
        f"the path {name!r} is {reason}"
        for name, reason in zip(names, ["outside the folder"] * 2 + [link] * 2)
    ]
    monkeypatch.setenv("KERAS_ATTN_FOLLOW_LINKS", "1")
    labels, _ = found(data, labels_file=f"labels.{form}")
    assert list(labels) == ["link.png", "linked/a.png", "own.png"]
