"""Layouts in which people have their data, and what becomes of each."""

import json

import numpy as np
import pytest
from PIL import Image

from keras_attn_pipelines.data.file_splits import FileSplits
from keras_attn_pipelines.data.picture_splits import split_pictures
from keras_attn_pipelines.data.readers.class_folders import class_files
from keras_attn_pipelines.data.readers.fact_reader import fact_sources
from keras_attn_pipelines.data.readers.labeled_text_reader import labeled_texts
from keras_attn_pipelines.data.readers.pair_reader import pair_sources
from keras_attn_pipelines.data.readers.picture_kinds import read_captions, read_labels


def written(folder, files, pictures=()):
    """A folder with files, of texts or of what JSON can hold, and with pictures."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_bytes(text.encode())
    for number, name in enumerate(pictures):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((5, 7, 3), 23 * number, "uint8")).save(path)
    return folder


def karpathy(*images):
    return {
        "dataset": "flickr8k",
        "images": [
            {
                "filename": name,
                "split": split,
                "sentences": [{"raw": raw, "tokens": raw.split()} for raw in said],
            }
            for name, split, said in images
        ],
    }


def coco(number, name, caption):
    annotation = {"id": 7, "image_id": number, "caption": caption}
    return {"images": [{"id": number, "file_name": name}], "annotations": [annotation]}


SQUARES = {"a.jpg": ("a red square", "one red shape"), "b.jpg": ("a blue square",)}
CAPTIONS = {
    "Karpathy": (
        {
            "dataset.json": karpathy(
                ("a.jpg", "train", ("a red square", "one red shape")),
                ("b.jpg", "restval", ("a blue square",)),
                ("c.jpg", "val", ("a green square",)),
            )
        },
        ["images/a.jpg", "images/b.jpg", "images/c.jpg"],
        SQUARES | {"c.jpg": ("a green square",)},
        {"train": ["a.jpg", "b.jpg"], "dev": ["c.jpg"]},
    ),
    "Kaggle's Flickr8k": (
        {"captions.txt": 'image,caption\na.jpg,a red square\nb.jpg,"a blue, plain square"\n'},
        ["Images/a.jpg", "Images/b.jpg"],
        {"a.jpg": ("a red square",), "b.jpg": ("a blue, plain square",)},
        None,
    ),
    "Flickr30k": (
        {
            "results.csv": "image_name| comment_number| comment\na.jpg| 0| a red square\n"
            "a.jpg| 1| one red shape\nb.jpg| 0| a blue square\n"
        },
        ["flickr30k_images/a.jpg", "flickr30k_images/b.jpg"],
        SQUARES,
        None,
    ),
    "ids without a suffix": (
        {"train.csv": "image_id,caption\na,a red square\nb,a blue square\n"},
        ["images/a.jpg", "images/b.png"],
        {"a": ("a red square",), "b": ("a blue square",)},
        None,
    ),
    "semicolons": (
        {"captions.csv": "image;caption\na.jpg;a red square\nb.jpg;a blue square\n"},
        ["a.jpg", "b.jpg"],
        {"a.jpg": ("a red square",), "b.jpg": ("a blue square",)},
        None,
    ),
    "a line that names the delimiter": (
        {"captions.csv": "sep=;\r\nimage;caption\r\na.jpg;a red square\r\nb.jpg;a blue square\r\n"},
        ["a.jpg", "b.jpg"],
        {"a.jpg": ("a red square",), "b.jpg": ("a blue square",)},
        None,
    ),
    "numbered columns": (
        {
            "captions.csv": "image,caption_1,caption_2\na.jpg,a red square,one red shape\n"
            "b.jpg,a blue square,\n"
        },
        ["a.jpg", "b.jpg"],
        SQUARES,
        None,
    ),
    "lists in cells": (
        {
            "captions.csv": 'filename,captions,split\na.jpg,"[""a red square"", ""one red shape""]"'
            ",train\nb.jpg,['a blue square'],val\n"
        },
        ["a.jpg", "b.jpg"],
        SQUARES,
        {"train": ["a.jpg"], "dev": ["b.jpg"]},
    ),
    "two files of COCO": (
        {
            "captions_train2017.json": coco(1, "a.jpg", "a red square"),
            "captions_val2017.json": coco(1, "b.jpg", "a blue square"),
        },
        ["images/a.jpg", "images/b.jpg"],
        {"a.jpg": ("a red square",), "b.jpg": ("a blue square",)},
        {"train": ["a.jpg"], "dev": ["b.jpg"]},
    ),
    "COCO with folders of splits": (
        {
            "annotations/captions_train2017.json": coco(1, "1.jpg", "a red square"),
            "annotations/captions_val2017.json": coco(1, "1.jpg", "a blue square"),
            "annotations/instances_val2017.json": {"images": [], "annotations": [{"bbox": [1]}]},
        },
        ["train2017/1.jpg", "val2017/1.jpg"],
        {"train2017/1.jpg": ("a red square",), "val2017/1.jpg": ("a blue square",)},
        {"train": ["train2017/1.jpg"], "dev": ["val2017/1.jpg"]},
    ),
    "several names of a file": (
        {
            "captions.csv": "image,caption\na.jpg,a red square\n./a.jpg,one red shape\n"
            "images/a.jpg,something red\nimages/x/../b.jpg,a blue square\nb.JPG,blue\n"
        },
        ["images/a.jpg", "images/b.jpg", "images/x/c.jpg"],
        {
            "a.jpg": ("a red square", "one red shape", "something red"),
            "images/x/../b.jpg": ("a blue square", "blue"),
        },
        None,
    ),
    "Windows": (
        {"captions.csv": "image,caption\nimages\\a.jpg,red\nimages\\B.JPG,blue\n"},
        ["images/a.jpg", "images/b.jpg"],
        {"images\\a.jpg": ("red",), "images\\B.JPG": ("blue",)},
        None,
    ),
    "Flickr8k as it is released": (
        {
            "Flickr8k.token.txt": "a.jpg#0\ta red square\na.jpg#1\tone red shape\n"
            "b.jpg#0\ta blue square\n",
            "Flickr8k.lemma.token.txt": "a.jpg#0\ta red square be\nb.jpg#0\ta blue square be\n",
            "Flickr_8k.trainImages.txt": "a.jpg\n",
            "Flickr_8k.devImages.txt": "b.jpg\n",
            "Flickr_8k.testImages.txt": "",
            "ExpertAnnotations.txt": "a.jpg\tb.jpg#0\t1\t1\t2\n",
            "CrowdFlowerAnnotations.txt": "a.jpg\tb.jpg#0\t0\t0\t3\n",
            "readme.txt": "Captions of 8,000 pictures, and judgments of them.\n",
        },
        ["Flicker8k_Dataset/a.jpg", "Flicker8k_Dataset/b.jpg"],
        SQUARES,
        {"train": ["a.jpg"], "dev": ["b.jpg"], "test": []},
    ),
    "Flickr8k's texts in a folder of their own": (
        {
            "Flickr8k_text/Flickr8k.token.txt": "a.jpg#0\ta red square\na.jpg#1\tone red shape\n"
            "b.jpg#0\ta blue square\n",
            "Flickr8k_text/Flickr8k.lemma.token.txt": "a.jpg#0\ta red square be\n",
            "Flickr8k_text/Flickr_8k.trainImages.txt": "a.jpg\n",
            "Flickr8k_text/Flickr_8k.devImages.txt": "b.jpg\n",
            "Flickr8k_text/readme.txt": "Captions of 8,000 pictures, and judgments of them.\n",
        },
        ["Flicker8k_Dataset/a.jpg", "Flicker8k_Dataset/b.jpg"],
        SQUARES,
        {"train": ["a.jpg"], "dev": ["b.jpg"], "test": []},
    ),
    "titles in a column named image": (
        {"captions.csv": "image,file,caption\nRed,a.jpg,a red square\nBlue,b.jpg,a blue square\n"},
        ["images/a.jpg", "images/b.jpg"],
        {"a.jpg": ("a red square",), "b.jpg": ("a blue square",)},
        None,
    ),
    "Unicode normal forms": (
        {"captions.csv": "image,caption\ncafe\u0301.jpg,a red square\nCAF\u00c9.jpg,red\n"},
        ["caf\u00e9.jpg"],
        {"cafe\u0301.jpg": ("a red square", "red")},
        None,
    ),
}


@pytest.mark.parametrize("name", CAPTIONS)
def test_captions(name, tmp_path):
    files, pictures, captions, splits = CAPTIONS[name]
    folder = read_captions(written(tmp_path, files, pictures), cache=tmp_path / "cache")
    assert not folder.skipped
    assert {picture.name: picture.captions for picture in folder.pictures} == captions
    if splits is not None:
        split = split_pictures(tmp_path, folder, required=())
        assert {name: [p.name for p in part] for name, part in split.items()} == splits


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (
            "Flickr8k as it is released",
            "Flickr8k tokens (Flickr8k.lemma.token.txt left out, without inflection)",
        ),
        ("titles in a column named image", "CSV, guessed --image-column file"),
    ],
)
def test_a_run_says_what_it_leaves_out_or_guesses(name, form, tmp_path):
    files, pictures, *_ = CAPTIONS[name]
    folder = written(tmp_path, files, pictures)
    assert read_captions(folder, cache=tmp_path / "cache").form == form


def test_two_columns_with_names_of_files_are_not_guessed(tmp_path):
    table = "image,small,large,caption\nRed,a.jpg,b.jpg,a red square\n"
    folder = written(tmp_path, {"captions.csv": table}, ["a.jpg", "b.jpg"])
    with pytest.raises(ValueError, match="no picture at"):
        read_captions(folder, cache=tmp_path / "cache")
    (picture,) = read_captions(folder, image_column="large", cache=tmp_path / "cache").pictures
    assert picture.name == "b.jpg"


def test_a_header_before_tokens_is_skipped(tmp_path):
    lines = "Caption,Image\na.jpg#0\ta red square .\na.jpg#1\tone red shape .\n"
    folder = written(tmp_path, {"Flickr8k.token.txt": lines}, ["a.jpg"])
    read = read_captions(folder, cache=tmp_path / "cache")
    assert (read.form, read.pictures[0].captions) == (
        "Flickr8k tokens",
        ("a red square .", "one red shape ."),
    )
    assert [(skip.line, skip.reason) for skip in read.skipped] == [
        (1, "expected picture#number, a tab and the caption")
    ]


def test_what_contradicts_itself_is_skipped(tmp_path):
    table = "image,caption,split\na.jpg,red,train\n./a.jpg,blue,val\nb.jpg,['x' 'y'],val\n"
    folder = written(tmp_path, {"captions.csv": table}, ["a.jpg", "b.jpg", "B.jpg"])
    read = read_captions(folder, cache=tmp_path / "cache")
    assert [picture.captions for picture in read.pictures] == [("red",)]
    assert [skip.reason for skip in read.skipped] == [
        "the split 'dev' for a picture of 'train'",
        "a list of texts without commas between them",
    ]
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,red\n.//B.JPG,blue\n")
    (skip,) = read_captions(folder, cache=tmp_path / "cache").skipped
    assert "it may be B.jpg or b.jpg" in skip.reason


def test_lists_of_pictures_in_other_spellings(tmp_path):
    files = {
        "captions.csv": "image,caption\nx/a.jpg,red\ny/a.jpg,blue\nx/b.jpg,green\n",
        "train.txt": "images/x/a.jpg\nB.JPG\n",
        "dev.txt": "Y\\A.jpg\n",
    }
    pictures = ["images/x/a.jpg", "images/y/a.jpg", "images/x/b.jpg"]
    folder = read_captions(written(tmp_path, files, pictures), cache=tmp_path / "cache")
    split = split_pictures(tmp_path, folder)
    assert [picture.name for picture in split["train"]] == ["x/a.jpg", "x/b.jpg"]
    assert [picture.name for picture in split["dev"]] == ["y/a.jpg"]
    for unknown in ("a.jpg", "z/b.jpg"):
        (tmp_path / "dev.txt").write_text(unknown)
        with pytest.raises(ValueError, match=f"Received: '{unknown}' at"):
            split_pictures(tmp_path, folder)


@pytest.mark.parametrize("label", [0, 1.5, True, "x"])
def test_scalars_of_json_are_their_text(label, tmp_path):
    line = json.dumps({"file_name": "a.jpg", "label": label})
    folder = written(tmp_path, {"metadata.jsonl": f"{line}\n"}, ["a.jpg"])
    (picture,) = read_labels(folder, cache=tmp_path / "cache").pictures
    assert picture.label == (label if isinstance(label, str) else json.dumps(label))


def test_labels_with_splits(tmp_path):
    table = "image,label,split\na.jpg,cat,train\nb.jpg,dog,test\nA.JPG,dog,train\nc.jpg,cat,val\n"
    folder = written(tmp_path, {"labels.csv": table}, ["a.jpg", "b.jpg", "c.jpg"])
    read = read_labels(folder, cache=tmp_path / "cache")
    assert [skip.reason for skip in read.skipped] == ["the label 'dog' for a picture of 'cat'"]
    split = split_pictures(tmp_path, read)
    assert {name: [picture.name for picture in part] for name, part in split.items()} == {
        "train": ["a.jpg"],
        "test": ["b.jpg"],
        "dev": ["c.jpg"],
    }


def facts(folder, **options):
    (source,) = fact_sources(folder, **options).values()
    return source.read()


def xml(*texts):
    lexes = "".join(f"<lex {marks}>{text}</lex>" for marks, text in texts)
    triple = "<modifiedtripleset><mtriple>Lakeview | mayor | Kim_Hart</mtriple></modifiedtripleset>"
    entry = f'<entry category="Place" eid="1">{triple}{lexes}</entry>'
    return f"<benchmark><entries>{entry}</entries></benchmark>"


def test_texts_of_one_language(tmp_path):
    both = xml(('lang=""', "Kim Hart is the mayor."), ('lang="br"', "Kim Hart eo maer."))
    written(tmp_path, {"train.xml": both})
    with pytest.raises(
        ValueError, match=r"one language in .*\(set --language\)\. Received: br, en"
    ):
        facts(tmp_path)
    with pytest.raises(ValueError, match=r"the language 'fr' in .* Received: br, en"):
        facts(tmp_path, language="fr")
    for language, text in (("br", "Kim Hart eo maer."), ("EN", "Kim Hart is the mayor.")):
        (read,) = facts(tmp_path, language=language).pairs
        assert read.texts == (text,)
    written(tmp_path, {"train.xml": xml(('lang="br"', "Kim Hart eo maer."))})
    assert facts(tmp_path).pairs[0].texts == ("Kim Hart eo maer.",)


def test_texts_that_are_marked_as_bad_are_listed(tmp_path):
    texts = ('comment="good"', "It is good."), ('comment="toFix"', "It not good."), ("", "It is.")
    read = facts(written(tmp_path, {"train.xml": xml(*texts)}))
    assert read.pairs[0].texts == ("It is good.", "It is.")
    assert [skip.reason for skip in read.skipped] == ["entry 1: a text marked 'toFix'"]


def test_meaning_representations(tmp_path):
    table = 'mr,ref\n"name[The Mill], food[Italian], area[riverside]",One.\n"food[]",Two.\n'
    read = facts(written(tmp_path, {"train.csv": table + '"name[The Mill",Three.\n'}))
    assert [record.facts for record in read.pairs] == [
        (
            ("The Mill", "name", "The Mill"),
            ("The Mill", "food", "Italian"),
            ("The Mill", "area", "riverside"),
        )
    ]
    assert [skip.line for skip in read.skipped] == [3, 4]


FACTS = {
    "GEM": {"values": [{"input": ["A | b | c"], "target": "x", "references": ["A b c.", "So?"]}]},
    "DART": [
        {"tripleset": [["A", "b", "c"]], "annotations": [{"text": "A b c."}, {"text": "So?"}]}
    ],
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(name, tmp_path):
    names = [f"{name}-v1.1-full-{split}.json" for split in ("train", "dev")]
    data = written(tmp_path, dict.fromkeys(names, FACTS[name]))
    (found,) = fact_sources(data)[f"{name}-v1.1-full-train"].read().pairs
    assert (found.facts, found.texts) == ((("A", "b", "c"),), ("A b c.", "So?"))
    records = FileSplits(fact_sources(data)).training()
    assert "1 of the pairs of dev is in train, too" in records.lines


def test_triples_beside_an_input_stay_the_facts(tmp_path):
    entry = {"input": ["any", "words"], "triples": [["A", "b", "c"]], "texts": ["A b c."]}
    (found,) = fact_sources(written(tmp_path, {"train.json": [entry]}))["train"].read().pairs
    assert (found.facts, found.texts) == ((("A", "b", "c"),), ("A b c.",))


@pytest.mark.parametrize(
    "broken", [{"input": ["A | b"], "target": "x"}, {"tripleset": [["A"]], "annotations": []}]
)
def test_facts_that_are_none(broken, tmp_path):
    data = written(tmp_path, {"train.json": [*FACTS["DART"], broken]})
    (skip,) = fact_sources(data)["train"].read().skipped
    assert "fact 1 without three parts" in skip.reason


def test_tests_without_answers_are_left_out(tmp_path):
    rows = "".join(f"{number},some text {number},{number % 2}\n" for number in range(30))
    files = {"train.csv": f"id,text,label\n{rows}", "test.csv": "id,text\n7,some text\n"}
    files["sample_submission.csv"] = "id,label\n7,0\n"
    data = written(tmp_path / "texts", files)
    assert "test.csv left out, without a label" in labeled_texts(data)["train"].form
    files = {"trainset.csv": "mr,ref\nfood[x],A.\n", "testset.csv": "MR\nfood[x]\n"}
    data = written(tmp_path / "facts", files)
    assert "testset.csv left out, without texts" in fact_sources(data)["trainset"].form


def test_a_test_of_pictures_is_left_out_only_with_pictures_of_its_own(tmp_path):
    files = {"train.csv": "id,label\na.png,x\nb.png,y\n", "test.csv": "id\nc.png\n"}
    data = written(tmp_path / "apart", files, ["train/a.png", "train/b.png", "test/c.png"])
    found = read_labels(data)
    assert [picture.name for picture in found.pictures] == ["a.png", "b.png"]
    assert "test.csv left out, without a label" in found.form
    assert set(split_pictures(data, found, required=())["test"]) <= set(found.pictures)
    files = {"train.csv": "image,label\na.png,x\nb.png,y\n", "test.csv": "image\na.png\n"}
    data = written(tmp_path / "together", files, ["images/a.png", "images/b.png"])
    with pytest.raises(ValueError, match="the split 'test' cannot be read"):
        read_labels(data)


def test_a_picture_is_no_data(tmp_path):
    data = written(tmp_path, {}, ["a.png"]) / "a.png"
    with pytest.raises(ValueError, match=r"a data folder or a file of records\..*a picture"):
        read_captions(data)


def test_numbers_of_facts_are_their_text(tmp_path):
    rows = [
        {"table": {"name": "Lakeview", "founded": 1990}, "texts": ["Founded in 1990."]},
        {"triples": [["Lakeview", "founded", 1990]], "texts": [1990]},
    ]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    read = facts(written(tmp_path, {"train.jsonl": lines}))
    assert read.pairs[0].facts == (("", "name", "Lakeview"), ("", "founded", "1990"))
    assert read.pairs[1].facts == (("Lakeview", "founded", "1990"),)
    assert read.pairs[1].texts == ("1990",)


DOGS = [("two dogs run", "zwei Hunde laufen"), ("a red car", "ein rotes Auto")]
TWO = "".join(f"{source}\t{target}\n" for source, target in DOGS)
PAIRS = {
    "Anki": (
        {"fra.txt": "Go.\tVa !\tCC-BY 2.0\nHi.\tSalut !\tCC-BY 2.0\n", "_about.txt": "Go.\n"},
        {},
        [("Go.", "Va !"), ("Hi.", "Salut !")],
        "TSV without a header, columns 1 and 2 of 3",
    ),
    "no header": (
        {"train.tsv": TWO},
        {},
        DOGS,
        "TSV without a header, columns 1 and 2 of 2",
    ),
    "columns": (
        {"train.tsv": TWO},
        {"places": (2, 1)},
        [(target, source) for source, target in DOGS],
        "TSV without a header, columns 2 and 1 of 2",
    ),
    "no header that looks like one": (
        {"train.csv": "text,target\nx,y\n"},
        {"header": False},
        [("text", "target"), ("x", "y")],
        "CSV without a header, columns 1 and 2 of 2",
    ),
    "languages": (
        {"train.tsv": f"en\tde\n{TWO}"},
        {"source_column": "en", "target_column": "de"},
        DOGS,
        "TSV",
    ),
    "OpenNMT": (
        {
            "src-train.txt": "".join(f"{source}\n" for source, _ in DOGS),
            "tgt-train.txt": "".join(f"{target}\n" for _, target in DOGS),
        },
        {},
        DOGS,
        "parallel text in src-train.txt and tgt-train.txt",
    ),
    "sides as suffixes": (
        {
            "train.src": "".join(f"{source}\n" for source, _ in DOGS),
            "train.tgt": "".join(f"{target}\n" for _, target in DOGS),
        },
        {},
        DOGS,
        "parallel text in src and tgt",
    ),
    "Excel": (
        {"train.tsv": 'source\ttarget\n"say ""hi"""\tsag hallo\n"two\nlines"\tzwei Zeilen\n'},
        {},
        [('say "hi"', "sag hallo"), ("two lines", "zwei Zeilen")],
        "TSV",
    ),
    "quotation marks as they are": (
        {"train.tsv": 'source\ttarget\n"Hi!"\t„Hallo!“\n"say ""hi"""\tsag hallo\n'},
        {},
        [('"Hi!"', "„Hallo!“"), ('"say ""hi"""', "sag hallo")],
        "TSV",
    ),
    "a hub's translations": (
        {
            "train.jsonl": "".join(
                f'{{"translation": {{"en": "{a}", "de": "{b}"}}}}\n' for a, b in DOGS
            )
        },
        {"source_column": "en", "target_column": "de"},
        DOGS,
        "JSON lines",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name, tmp_path):
    files, options, expected, form = PAIRS[name]
    (source,) = pair_sources(written(tmp_path, files), **options).values()
    read = source.read()
    assert [(pair.source, pair.target) for pair in read.pairs] == expected
    assert (read.form.removesuffix(" (set --columns)"), read.skipped) == (form, [])


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"train.tsv": f"en\tde\n{TWO}"}, {}, r"set --source-column and --target-column.*de"),
        ({"train.tsv": TWO}, {"places": (1, 3)}, "columns 1 and 3 in .* 2 in the first line"),
        (PAIRS["a hub's translations"][0], {}, r"\(set --source-column and .*\bde\b"),
        (
            {"src-train.txt": "a\n", "src.train.txt": "b\n", "tgt-train.txt": "c\n"},
            {},
            "one source of train .* src-train.txt and src.train.txt",
        ),
    ],
)
def test_what_is_no_pair(files, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        [source.read() for source in pair_sources(written(tmp_path, files), **options).values()]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["training_set/cats/1.jpg", "training_set/dogs/1.jpg", "test_set/cats/2.jpg"],
            {("cats", "train"), ("dogs", "train"), ("cats", "test")},
        ),
        (
            ["seg_train/seg_train/sea/1.jpg", "seg_test/seg_test/sea/2.jpg"],
            {("sea", "train"), ("sea", "test")},
        ),
        (["Training/sea/1.jpg", "Testing/sea/2.jpg"], {("sea", "train"), ("sea", "test")}),
        (["set/train/sea/1.jpg", "set/val/sea/2.jpg"], {("sea", "train"), ("sea", "dev")}),
        (
            ["bullet_train/x/1.jpg", "car/x/2.jpg", "bus/3.jpg"],
            {("bullet_train", ""), ("car", ""), ("bus", "")},
        ),
        (["sea/1.jpg", "wood/2.jpg", "train/3.jpg"], {("sea", ""), ("wood", ""), ("train", "")}),
    ],
)
def test_folders_of_classes(names, expected, tmp_path):
    files = class_files(written(tmp_path, {}, names), (".jpg",))
    assert {(file.label, file.split) for file in files} == expected
    assert sorted(file.name for file in files) == sorted(names)
