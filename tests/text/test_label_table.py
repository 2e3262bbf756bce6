"""Labels of classes: ids, names in the graph, files, and what is refused."""

import pytest
import tensorflow as tf

from keras_attn.text.label_table import LabelTable
from keras_attn.text.symbol_table import SymbolTable

LABELS = ["cat", "small dog", "Ünïcode|☂"]


def test_ids_and_names():
    table = LabelTable(LABELS)
    assert [table.id_of(name) for name in LABELS] == [0, 1, 2] and table.id_of("dog") is None
    names = tf.function(table.pieces)(tf.constant([[2, 0, 3], [1, 1, -1]]))
    assert [[text.decode() for text in row] for row in names.numpy()] == [
        [LABELS[2], LABELS[0], ""],
        [LABELS[1], LABELS[1], ""],
    ]
    assert table.vocabulary_size == 3 and table.unit == "labels"


def test_saved_and_loaded(tmp_path):
    table = LabelTable(LABELS)
    table.save(tmp_path / "labels")
    assert table.equals(LabelTable.load(tmp_path / "labels"))
    assert not table.equals(LabelTable(LABELS[::-1])) and not table.equals(None)
    assert not LabelTable(["a"]).equals(SymbolTable(["a"]))


@pytest.mark.parametrize("content", ["", "{}", '{"labels": 3}', '{"labels": [1]}', "[]"])
def test_damaged_files(tmp_path, content):
    (tmp_path / "labels.json").write_text(content)
    with pytest.raises(ValueError, match=r"Expected labels in .*labels.json"):
        LabelTable.load(tmp_path)


@pytest.mark.parametrize(
    ("labels", "message"),
    [([], "each once"), (["a", "a"], "each once"), (["a", " "], "that are not blank")],
)
def test_bad_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        LabelTable(labels)
