"""Links in data folders: what leads out of the folder is read only where the user allows it."""

import json
import shutil

import pytest

from keras_attn_pipelines.data.columns import LABELS, Columns
from keras_attn_pipelines.data.data_files import FOLLOW_LINKS, files_below, follows_links
from keras_attn_pipelines.data.picture_folder import LabeledPicture, PictureFolder
from keras_attn_pipelines.data.picture_splits import named_split, split_pictures
from keras_attn_pipelines.data.readers.babi_reader import read_task, task_files
from keras_attn_pipelines.data.readers.fact_reader import fact_sources
from keras_attn_pipelines.data.readers.labeled_text_reader import labeled_texts
from keras_attn_pipelines.data.readers.pair_reader import pair_sources
from keras_attn_pipelines.data.readers.picture_kinds import CAPTIONED, LABELED, read_captions
from keras_attn_pipelines.data.readers.picture_reader import find_pictures
from keras_attn_pipelines.data.readers.sentence_reader import sentence_files
from keras_attn_pipelines.data.readers.tree_reader import tree_sources
from tests.pipelines.picture_folder import pictures

ALLOWED = rf"a link that leads out of the folder \(set {FOLLOW_LINKS}=1"


def read(sources):
    """The records of all splits; a record that cannot be used is an error."""
    for split in (files := {name: source.read() for name, source in sources.items()}).values():
        split.check(0.0)
    return {name: file.pairs for name, file in files.items()}


def records(found):
    """The records in files of pictures; one that cannot be used is an error."""
    values = [record for _, record in found.records]
    if reasons := [record.reason for record in values if record.reason]:
        raise ValueError(reasons)
    return values


def listed(data):
    """The splits by lists of pictures, of pictures that need not be there."""
    names = ["a.png", "b.png", "c.png"]
    pictures = [LabeledPicture(name, data / name, "x", "0" * 64) for name in names]
    folder = PictureFolder(pictures, 3, [], data / "labels.csv", "CSV")
    splits = split_pictures(data, folder)
    splits["own"] = named_split(data, folder, split_pictures, "own")
    return {split: [picture.name for picture in values] for split, values in splits.items()}


FACT = json.dumps({"triples": [["a", "b", "c"]], "texts": ["d"]})
READERS = {
    "table": ({"train.tsv": "source\ttarget\na\tb\n"}, lambda data: read(pair_sources(data))),
    "parallel": (
        {"train.de": "b\n", "train.en": "a\n"},
        lambda data: read(pair_sources(data, "en", "de")),
    ),
    "facts": ({"train.jsonl": FACT}, lambda data: read(fact_sources(data))),
    "trees": ({"train.mrg": "(S (X a))"}, lambda data: read(tree_sources(data))),
    "sentences": ({"train.txt": "a b\n"}, lambda data: read(sentence_files(data, "txt"))),
    "stories": (
        {"qa1_train.txt": "1 a b\n2 c?\tb\n"},
        lambda data: [read_task(file).pop().story for file in task_files(data)["train"]],
    ),
    "class_folders": (
        {"pos/1.txt": "a\n", "neg/1.txt": "b\n"},
        lambda data: read(labeled_texts(data)),
    ),
    "captions": (
        {"captions.csv": "image,caption\na.png,b\n"},
        lambda data: records(find_pictures(data, CAPTIONED, "auto", Columns())),
    ),
    "sidecars": (
        {"a.txt": "b\n", "a.png": ""},
        lambda data: records(find_pictures(data, CAPTIONED, "auto", Columns())),
    ),
    "labels": (
        {"labels.csv": "image,label\na.png,b\n"},
        lambda data: records(find_pictures(data, LABELED, "auto", Columns(known=LABELS))),
    ),
    "lists": ({"own.txt": "b.png", "dev.txt": "a.png\n", "train.txt": "b.png\n"}, listed),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_outside_the_folder_is_read_only_where_the_user_allows_it(
    name, tmp_path, monkeypatch
):
    files, reader = READERS[name]
    data = tmp_path / "data"
    for file, text in files.items():
        (data / file).parent.mkdir(parents=True, exist_ok=True)
        (data / file).write_text(text)
    expected = reader(data)
    assert expected
    (tmp_path / "link").symlink_to(data)
    assert str(reader(tmp_path / "link")).replace("/link", "/data") == str(expected)
    path = data / next(iter(files))
    for place in (data / ".own", tmp_path / "elsewhere"):
        content = path.read_bytes()
        path.unlink()
        place.write_bytes(content)
        path.symlink_to(place)
        if place.parent == data:
            assert reader(data) == expected
            continue
        with pytest.raises(ValueError, match=ALLOWED):
            reader(data)
        monkeypatch.setenv(FOLLOW_LINKS, "1")
        assert reader(data) == expected


def test_a_folder_of_a_class_outside(tmp_path, monkeypatch):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    for folder in (data / "neg", elsewhere):
        folder.mkdir(parents=True)
        (folder / "1.txt").write_text("a\n")
    shutil.copytree(elsewhere, data / "pos")
    expected = read(labeled_texts(data))
    shutil.rmtree(data / "pos")
    (data / "pos").symlink_to(elsewhere)
    (elsewhere / "loop").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(data)
    (data / "again").symlink_to(data / "neg")
    with pytest.raises(ValueError, match=f"pos, {ALLOWED}"):
        read(labeled_texts(data))
    monkeypatch.setenv(FOLLOW_LINKS, "1")
    assert read(labeled_texts(data)) == expected
    names = [path.relative_to(data).as_posix() for path in files_below(data)]
    assert names == ["neg/1.txt", "pos/1.txt"]


def test_a_file_that_the_user_names_may_be_a_link(tmp_path):
    (tmp_path / "data").mkdir()
    for name, text in (("train.en", "a\n"), ("train.de", "b\n"), ("x.tsv", "source\ttarget\na\tb")):
        (tmp_path / name).write_text(text)
        (tmp_path / "data" / name).symlink_to(tmp_path / name)
    assert read(pair_sources(tmp_path / "data" / "x.tsv"))
    with pytest.raises(ValueError, match=rf"train\.de, {ALLOWED}"):
        pair_sources(tmp_path / "data" / "train.en", "en", "de")


def test_the_variable_is_0_or_1(monkeypatch):
    monkeypatch.setenv(FOLLOW_LINKS, "yes")
    with pytest.raises(ValueError, match=f"Expected {FOLLOW_LINKS} to be 0 or 1. Received: 'yes'"):
        follows_links()


@pytest.mark.parametrize("name", ["images", "Flicker8k_Dataset"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_linked_pictures_that_lead_out_are_refused(name, is_whole, tmp_path, monkeypatch):
    pictures(tmp_path / "elsewhere", ["a.png", "b.png"])
    data = tmp_path / "data"
    data.mkdir()
    if is_whole:
        (data / name).symlink_to(tmp_path / "elsewhere")
    else:
        (data / name).mkdir()
        for picture in ("a.png", "b.png"):
            (data / name / picture).symlink_to(tmp_path / "elsewhere" / picture)
    (data / "captions.csv").write_text("image,caption\na.png,a\nb.png,b\n")
    with pytest.raises(ValueError, match="a link that leads out of the folder"):
        read_captions(data)
    monkeypatch.setenv("KERAS_ATTN_FOLLOW_LINKS", "1")
    assert len(read_captions(data).pictures) == 2


def test_the_limit_of_a_token_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "captions.txt").write_text("a.png#0\ta dog\n" * 9)
    monkeypatch.setenv("KERAS_ATTN_MAX_TEXT_BYTES", "60")
    with pytest.raises(ValueError, match=r"Expected at most 60 bytes in .*captions\.txt"):
        read_captions(tmp_path)
