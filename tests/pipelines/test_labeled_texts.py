"""Labeled texts: every format, bad records, batches."""

import json
import sys
import types

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import END_ID
from keras_attn_pipelines.data.file_splits import FileSplits
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.data.readers.labeled_text_reader import labeled_texts
from keras_attn_pipelines.experiment.parts import Setting
from keras_attn_pipelines.recipes.text_classifier import RECIPE
from tests.pipelines.labeled_texts import TINY, examples, write_classes

ROWS = [("a fine film", "good"), ("so dull, really", "bad"), ("fine", "good")]
PAIRS = [TextPair(text, label) for text, label in ROWS]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("columns", ["text\tlabel", "review\tsentiment", "Sentence\tclass"])
def test_tables(columns, tmp_path):
    lines = [columns, *("\t".join(row) for row in ROWS)]
    path = write(tmp_path / "train.tsv", "".join(f"{line}\n" for line in lines))
    for data in (tmp_path, path):
        file = labeled_texts(data)["train"].read()
        assert file.pairs == PAIRS and [pair.line for pair in file.pairs] == [2, 3, 4]


def test_json_lines_with_integer_labels(tmp_path):
    rows = [{"text": "a", "label": 1}, {"text": "b", "label": "1"}, {"text": "c", "label": True}]
    rows += [{"text": "d", "label": 0.5}, {"text": "e", "label": ""}, {"label": 1}]
    path = write(tmp_path / "mine.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    file = labeled_texts(tmp_path)["mine"].read()
    assert file.pairs == [
        TextPair("a", "1"),
        TextPair("b", "1"),
        TextPair("c", "true"),
        TextPair("d", "0.5"),
    ]
    assert [str(skip) for skip in file.skipped] == [
        f"{path}:5: empty label",
        f"{path}:6: no text; keys: label",
    ]


@pytest.mark.parametrize("splits", [False, True])
def test_class_folders(splits, tmp_path):
    for place, (text, label) in enumerate(examples(20)):
        split = ("train/" if place else "valid/") if splits else ""
        write(tmp_path / f"{split}{label}/{place}.txt", f"{text}\n\n{text}\n")
    sources = labeled_texts(tmp_path)
    assert list(sources) == (["train", "dev"] if splits else ["train"])
    records = FileSplits(sources, dev_share=0.3).training()
    text, label = examples(1)[0]
    first = TextPair(f"{text} {text}", label)
    names = ("dev",) if splits else tuple(records.splits)
    assert any(first in records.splits[name] for name in names)
    assert sum(map(len, records.splits.values())) == 20
    assert all(records.splits[name] for name in ("train", "dev"))


def test_a_bad_file_in_a_class_folder_is_named(tmp_path):
    write_classes(tmp_path, 4)
    (tmp_path / "good" / "odd.txt").write_bytes(b"\xe9t\xe9")
    empty, loose = write(tmp_path / "good" / "z.txt", " \n"), write(tmp_path / "x.txt", "x")
    write(tmp_path / "good" / ".hidden.txt", "x")
    file = labeled_texts(tmp_path)["train"].read()
    assert len(file.pairs) == 4 and file.records == 7
    assert [str(skip) for skip in file.skipped] == [
        f"{tmp_path / 'good' / 'odd.txt'}: not UTF-8",
        f"{empty}: empty text",
        f"{loose}: not in a class folder",
    ]


def test_what_is_no_labeled_text(tmp_path):
    with pytest.raises(ValueError, match=r"Expected labeled texts at .*no such file or folder"):
        labeled_texts(tmp_path / "none")
    with pytest.raises(ValueError, match=r"or a folder for each class with .txt files.*neither"):
        labeled_texts(tmp_path)
    table = write(tmp_path / "train.csv", "words,x,label\na,c,b\n")
    with pytest.raises(ValueError, match=r"Expected a column named text, .*: words, x, label"):
        labeled_texts(tmp_path)
    assert labeled_texts(table, "words")["train"].read().pairs == [TextPair("a", "b")]
    with pytest.raises(ValueError, match="text_column and a label_column that differ"):
        labeled_texts(tmp_path, "words", "words")
    with pytest.raises(ValueError, match=r"Expected a file of \.csv"):
        labeled_texts(write(tmp_path / "a.txt", "a"))


class Builder:
    """A data set of tensorflow-datasets whose labels are classes."""

    def __init__(self):
        label = types.SimpleNamespace(int2str=["bad", "good"].__getitem__)
        self.info = types.SimpleNamespace(
            splits=["train"], features={"text": object(), "label": label}
        )

    def download_and_prepare(self):
        pass

    def as_dataset(self, split, shuffle_files):
        values = {"text": ["fine", "dull", "none"], "label": [1, 0, -1]}
        return tf.data.Dataset.from_tensor_slices(values)


def test_tensorflow_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = types.SimpleNamespace(builder=lambda name: Builder())
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", fake)
    file = labeled_texts("tfds:toy")["train"].read()
    assert file.pairs == [TextPair("fine", "good"), TextPair("dull", "bad")]
    assert [str(skip) for skip in file.skipped] == [
        f"{file.path}:3: no label; keys: text",
    ]


def encoded(folder, train, dev, **values):
    """Training data of two tables, and their vocabularies."""
    for stem, rows in (("train", train), ("dev", dev)):
        text = "".join(f"{text}\t{label}\n" for text, label in [("text", "label"), *rows])
        write(folder / f"{stem}.tsv", text)
    recipe = RECIPE.replaced({**TINY, "batch_tokens": 0, "batch_size": 7, **values})
    records = recipe.source.read(folder)
    vocabularies = recipe.work.learn(records.splits["train"])
    return recipe.work.encode(
        records, vocabularies, Setting(recipe.model, recipe.fit)
    ), vocabularies


@pytest.mark.parametrize("bpe_dropout", [0.0, 0.3])
def test_batches(tmp_path, bpe_dropout):
    train = [*examples(20), ("one of a kind", "rare")]
    dev = [*examples(3, 1), ("a the", "odd")]
    data, vocabularies = encoded(tmp_path, train, dev, bpe_dropout=bpe_dropout)
    labels, tokenizer = vocabularies["labels"], vocabularies["tokenizer"]
    assert labels.names == ("bad", "good", "rare")
    assert [str(skip) for skip in data.skipped] == [
        f"{tmp_path / 'dev.tsv'}:5: the label 'odd' of dev is not in train"
    ]
    seen = []
    for tokens, classes, weights in data.training(0).take(data.steps):
        assert tokens.shape[0] == classes.shape[0] == weights.shape[0] == 7
        for row, label, weight in zip(tokens.numpy(), classes.numpy(), weights.numpy()):
            pieces = row[row != 0]
            assert weight == float(len(pieces) > 0)
            if weight:
                assert pieces[-1] == END_ID and END_ID not in pieces[:-1]
                text = tokenizer.decode([pieces[:-1]]).numpy()[0].decode()
                seen.append((text, labels.names[label]))
    assert sorted(seen) == sorted(train)
    epochs = [[], []]
    for step, (tokens, _, _) in enumerate(data.training(0).take(2 * data.steps)):
        epochs[step // data.steps] += [tuple(row[row != 0]) for row in tokens.numpy()]
    first, second = map(sorted, epochs)
    assert (first == second) == (not bpe_dropout)
    assert sum(float(np.sum(batch[2])) for batch in data.dev) == 3


def test_texts_that_do_not_fit(tmp_path):
    train = [*examples(20), ("film " * 40, "good")]
    data, _ = encoded(tmp_path, train, examples(3, 1))
    (skip,) = data.skipped
    assert "text of 41 pieces, end included, too long for any batch" in str(skip)
    assert "1 texts of train have more than 23 pieces, end included: left out" in data.lines
    with pytest.raises(ValueError, match=r"Expected a text of dev with a label of train.*odd"):
        encoded(tmp_path, train, [("a", "odd")])
    with pytest.raises(ValueError, match=r"Expected texts of two labels or more.*good"):
        encoded(tmp_path, [("a", "good"), ("b", "good")], [("a", "good")])
