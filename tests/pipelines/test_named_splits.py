"""A split that is named is read, or nothing is: no rows of train take its place."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from keras_attn_pipelines.recipes import load_recipe
from tests.pipelines.picture_folder import pictures

ROWS = 40
"""Records of train, of which a tenth would be held out."""
SPLITS = ("train", "dev", "test")


class Source(NamedTuple):
    """A way in which records come.

    Attributes:
        recipe: whose source reads them.
        name: of a split's file, with "{}" for the split.
        row: text of a record, from its number.
        header: first line.
        folder: function that puts into the folder what all splits share, or None.
        values: fields of the source.
    """

    recipe: str
    name: str
    row: Callable[[int], str]
    header: str = ""
    folder: Callable[[Path], object] | None = None
    values: dict[str, str] = {}


def captioned(folder):
    """Pictures with captions."""
    pictures(folder / "images", [f"{n}.png" for n in range(3)])
    (folder / "captions.csv").write_text("image,caption\n0.png,a\n1.png,b\n2.png,c\n")


def labeled(folder):
    """Pictures with labels."""
    pictures(folder / "images", [f"{n}.png" for n in range(3)])
    (folder / "labels.csv").write_text("image,label\n0.png,a\n1.png,b\n2.png,b\n")


def target(folder):
    """The other side of parallel text."""
    for split in SPLITS:
        rows = ROWS if split == "train" else 3
        (folder / f"{split}.de").write_text("".join(f"Wort {n}\n" for n in range(rows)))


def babi(n):
    """A question about a story."""
    return f"1 Mary went {n}.\n2 Where is Mary?\tpark{n}\t1\n"


BOTH = {"source_column": "en", "target_column": "de"}
PAIR = '{{"source": "a {0}", "target": "b {0}"}}\n'
FACTS = '{{"triples": [["s{0}", "p", "o"]], "texts": ["s{0} is o"]}}\n'
TREE = "(S (NP (D the) (N dog{0})) (VP (V ran)))\n"
SOURCES = {
    "pairs in TSV": Source(
        "translator_transformer", "{}.tsv", "a {0}\tb {0}\n".format, "source\ttarget\n"
    ),
    "pairs in CSV": Source(
        "translator_transformer", "{}.csv", "a {0},b {0}\n".format, "source,target\n"
    ),
    "pairs in JSON lines": Source("translator_transformer", "{}.jsonl", PAIR.format),
    "parallel text": Source(
        "translator_transformer", "{}.en", "word {0}\n".format, folder=target, values=BOTH
    ),
    "labeled texts": Source("text_classifier", "{}.tsv", "a {0}\tpos\n".format, "text\tlabel\n"),
    "sentences": Source("progressive_memory", "{}.txt", "a sentence {0}\n".format),
    "facts in JSON lines": Source("webnlg_graph", "{}.jsonl", FACTS.format),
    "facts in CSV": Source("webnlg_graph", "{}.csv", "x {0},x {0} is.\n".format, "name,text\n"),
    "trees": Source("parser_transformer", "{}.mrg", TREE.format),
    "questions": Source("babi_memory_network", "qa1_where_{}.txt", babi),
    "lists of captioned pictures": Source("scenes", "{}.txt", lambda n: "", folder=captioned),
    "lists of labeled pictures": Source("vit_classifier", "{}.txt", lambda n: "", folder=labeled),
}


def truncated(path):
    """A .gz without its end."""
    packed = gzip.compress(path.read_bytes() * 50)
    path.with_name(f"{path.name}.gz").write_bytes(packed[: len(packed) // 2])
    path.unlink()


def damaged(path):
    """A .gz with junk in it."""
    path.with_name(f"{path.name}.gz").write_bytes(b"\x1f\x8b\x08\x00junk" * 9)
    path.unlink()


def dangling(path):
    """A link to nothing."""
    path.unlink()
    path.symlink_to(path.with_name("nothing"))


def headless(path):
    """Another header."""
    path.write_text("x\ty,z\n" + path.read_text().split("\n", 1)[1])


def broken(path):
    """Lines of JSON that are cut off."""
    path.write_text("".join(f"{line[:9]}\n" for line in path.read_text().split("\n")))


def alone(path):
    """Parallel text without its other side."""
    path.with_suffix(".de").unlink()


DAMAGES = {
    "UTF-16": lambda path: path.write_bytes(path.read_text().encode("utf-16")),
    "truncated": truncated,
    "damaged": damaged,
    "empty": lambda path: path.write_bytes(b""),
    "dangling": dangling,
}
ONLY = {
    headless: ("pairs in TSV", "pairs in CSV", "labeled texts", "facts in CSV"),
    broken: ("pairs in JSON lines", "facts in JSON lines"),
    alone: ("parallel text",),
}
CASES = [
    *((source, damage) for source in SOURCES for damage in DAMAGES.values()),
    *((source, damage) for damage, sources in ONLY.items() for source in sources),
]


def written(folder, source):
    """Train, dev and test of a source."""
    folder.mkdir()
    if source.folder:
        source.folder(folder)
    for place, split in enumerate(SPLITS):
        rows = [source.row(number) for number in range(ROWS if split == "train" else 3)]
        text = source.header + "".join(rows) or f"{place}.png\n"
        (folder / source.name.format(split)).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "damage"), CASES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_split_that_cannot_be_read_stops_everything(name, damage, tmp_path):
    source = SOURCES[name]
    experiment = load_recipe(source.recipe).replaced(source.values)
    whole = written(tmp_path / "whole", source)
    count = len(experiment.source.read(whole).splits["train"])
    for split in SPLITS:
        folder = written(tmp_path / split, source)
        file = folder / source.name.format(split)
        damage(file)
        with pytest.raises((ValueError, OSError)) as caught:
            records = experiment.source.read(folder)
            assert split == "test" and len(records.splits["train"]) == count
            experiment.source.split(folder, split)
        told = str(caught.value)
        assert file.name in told or f"the split {split!r}" in told, told


@pytest.mark.parametrize("recipe", ["text_classifier", "vit_classifier"])
@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_folders_of_splits(recipe, split, tmp_path):
    source, folder = load_recipe(recipe).source, tmp_path / "data"
    for place in ("train/a", "train/b", "validation/a", "test/b"):
        pictures(folder / place, ["1.png", "2.png"])
        (folder / place / "1.txt").write_text("a text")
    assert {"train", "dev"} <= set(source.read(folder).splits)
    (path,) = folder.glob("val*" if split == "dev" else split)
    path.rename(tmp_path / "elsewhere")
    path.mkdir()
    with pytest.raises(ValueError, match=f"{path} for the split '{split}'"):
        source.read(folder)
    path.rmdir()
    path.symlink_to(tmp_path / "nothing")
    with pytest.raises(ValueError, match=f"{path} for the split '{split}'"):
        source.read(folder)


def test_two_files_of_a_split(tmp_path):
    source = SOURCES["pairs in TSV"]
    folder = written(tmp_path / "data", source)
    (folder / "Valid.tsv").write_text(source.header + source.row(1))
    with pytest.raises(ValueError, match=r"one dev file\. Received: Valid, dev"):
        load_recipe(source.recipe).source.read(folder)


NO_LISTS = {f"{split}.txt": None for split in SPLITS}
ODD = {
    "a broken file beside a second one": ("pairs in TSV", {"dev.tsv": "", "valid.tsv": "+"}),
    "a second broken test": ("labeled texts", {"test_2016.tsv": "x\ty\n"}),
    "a folder": ("pairs in TSV", {"dev.tsv": None, "dev/dev.tsv": "+"}),
    "a folder for each class": ("labeled texts", {"dev.tsv": None, "dev/pos/1.txt": "a"}),
    "another suffix": ("pairs in TSV", {"dev.tsv": None, "dev.parquet": "PAR1"}),
    "no suffix": ("sentences", {"dev.txt": None, "dev": "a\n"}),
    "another language": ("parallel text", {"dev.en": None, "dev.de": None, "dev.fr": "a\n"}),
    "another compression": ("trees", {"dev.mrg": None, "dev.mrg.bz2": "BZh"}),
    "two formats of one name": ("pairs in TSV", {"train.csv": "source,target\na,b\n"}),
    "another case": ("questions", {"qa1_where_dev.txt": None, "QA1_where_Valid.tsv": "a"}),
    "part of a name": ("questions", {"qa1_where_dev.txt": None, "qa1_where_dev-small.txt": "a"}),
    "a list of another suffix": ("lists of labeled pictures", {"test.txt": None, "Test.lst": "a"}),
    "a table in place of a list": ("lists of captioned pictures", {"test.csv": "image\n"}),
    "a year": ("pairs in TSV", {"dev.tsv": None, "dev_2016.tsv": "+"}),
    "a second download": ("labeled texts", {"dev.tsv": None, "valid (1).tsv": "+"}),
    "a number of parts": ("sentences", {"dev.txt": None, "validation-00000-of-00001.txt": "a\n"}),
    "a data set before it": ("trees", {"dev.mrg": None, "toy.dev.mrg": TREE}),
    "a number": ("facts in JSON lines", {"dev.jsonl": None, "dev-2.jsonl": FACTS.format(1)}),
    "no task": ("questions", {"qa1_where_dev.txt": None, "valid.txt": "a"}),
    "the split first": ("questions", {"qa1_where_dev.txt": None, "valid_qa1.txt": "a"}),
    "a folder of questions": ("questions", {"qa1_where_dev.txt": None, "valid/qa1_dev.txt": "a"}),
    "a list of another name": ("lists of captioned pictures", {**NO_LISTS, "dev_1.txt": "1.png"}),
    "a folder of pictures": ("lists of labeled pictures", {**NO_LISTS, "dev/labels.csv": "a"}),
    "labels of another header": ("lists of labeled pictures", {"dev_labels.csv": "x,y\n1,2\n"}),
}
"""What else is in a folder, or missing (None): it is named for a split, and cannot be read."""


@pytest.mark.parametrize("what", ODD)
def test_a_name_that_means_a_split_is_never_passed_over(what, tmp_path):
    name, files = ODD[what]
    source = SOURCES[name]
    folder = written(tmp_path / "data", source)
    for file, content in files.items():
        path = folder / file
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.header + source.row(1) if content == "+" else content)
    with pytest.raises(ValueError, match="Expected "):
        load_recipe(source.recipe).replaced(source.values).source.read(folder)


@pytest.mark.parametrize("recipe", ["text_classifier", "vit_classifier"])
def test_splits_inside_classes_are_refused(recipe, tmp_path):
    for place in ("a/train", "a/val", "b/train", "b/val"):
        pictures(tmp_path / place, ["1.png", "2.png"])
        (tmp_path / place / "1.txt").write_text("a text")
    with pytest.raises(ValueError, match=r"the split 'dev' inside a folder: .*a/val"):
        load_recipe(recipe).source.read(tmp_path)


@pytest.mark.parametrize("kind", ["side-car texts", "captions.csv", "labels.csv"])
@pytest.mark.parametrize("inside", ["", "images"])
def test_folders_of_pictures_named_for_splits_are_splits(kind, inside, tmp_path):
    counts, rows = {"train": 7, "val": 3, "test": 2}, ["image,caption,label"]
    for split, count in counts.items():
        names = [f"{split}{n}.png" for n in range(count)]
        pictures(tmp_path / inside / split, names)
        rows += [f"{split}/{name},a text,{'ab'[n % 2]}" for n, name in enumerate(names)]
        for name in names if kind == "side-car texts" else ():
            (tmp_path / inside / split / name).with_suffix(".txt").write_text("a text")
    if kind != "side-car texts":
        (tmp_path / kind).write_text("\n".join(rows))
    source = load_recipe("vit_classifier" if kind == "labels.csv" else "scenes").source
    splits = source.read(tmp_path).splits
    assert {name: len(records) for name, records in splits.items()} == {
        "train": 7,
        "dev": 3,
        "test": 2,
    }
    if kind != "side-car texts":
        pictures(tmp_path / inside, ["stray.png"])
        (tmp_path / kind).write_text("\n".join([*rows, "stray.png,a text,a"]))
        with pytest.raises(ValueError, match=r"in folders of splits.* Received: 'stray\.png'"):
            source.read(tmp_path)


def test_the_folder_that_holds_all_pictures_may_be_named_for_a_split(tmp_path):
    pictures(tmp_path / "train", [f"{n}.png" for n in range(7)])
    rows = "".join(f"{n}.png,a\n" for n in range(7))
    (tmp_path / "captions.csv").write_text(f"image,caption\n{rows}")
    source = load_recipe("scenes").replaced({"image_folder": "train"}).source
    assert sum(map(len, source.read(tmp_path).splits.values())) == 7


def test_texts_that_list_no_pictures_are_left_alone(tmp_path):
    names = ["dev_1", "dev_2", "valley", "eval_results"]
    pictures(tmp_path, [f"{name}.png" for name in names])
    for name in names:
        (tmp_path / f"{name}.txt").write_text("a caption")
    splits = load_recipe("scenes").source.read(tmp_path).splits
    assert sum(map(len, splits.values())) == 4


def test_files_that_are_no_splits_are_left_alone(tmp_path):
    source = SOURCES["pairs in TSV"]
    folder = written(tmp_path / "data", source)
    (folder / "test.tsv").unlink()
    for name in ("train.py", "test_scores.json", "testimonials.txt", "README.md", "notes.csv"):
        (folder / name).write_text("a")
    records = load_recipe(source.recipe).source.read(folder)
    assert len(records.splits["train"]) == ROWS
