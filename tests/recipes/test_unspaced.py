"""Recipes whose monitor is a metric of texts, on texts without spaces between words."""

import csv
import importlib
import json
import re
import zlib

import pytest

from keras_attn.training.resume import Checkpoint
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs import train as training
from keras_attn_pipelines.runs.run import Run
from tests.pipelines.history import history
from tests.recipes.registry import BY_NAME

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TOKENIZATION = importlib.import_module("keras_attn.evaluation.tokenization")
HAN, HIRAGANA = (0x4E00, 500), (0x3042, 67)
CAPTIONS = "characters where words have no spaces between them, otherwise PTB"


def in_script(text, script=HAN):
    """A text whose words are a character each, without spaces."""
    first, count = script

    def character(word):
        return chr(first + zlib.crc32(word[0].encode()) % count)

    return re.sub(r"[^\W\d_]+", character, text).replace(" ", "")


def rewrite(folder, script=HAN):
    """Puts all texts to be generated, and names of facts, into another script."""
    for path in folder.glob("*.de"):
        path.write_text(in_script(path.read_text("utf-8"), script), "utf-8")
    for path in folder.glob("captions.csv"):
        with path.open(encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        rows = [[name, in_script(caption, script)] for name, caption in rows]
        with path.open("w", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *rows])
    for path in folder.glob("*.jsonl"):
        sets = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for record in sets:
            record["triples"] = [
                [in_script(name, script) for name in fact] for fact in record["triples"]
            ]
            record["texts"] = [
                {**text, "text": in_script(text["text"], script)} for text in record["texts"]
            ]
        path.write_text("".join(f"{json.dumps(record)}\n" for record in sets), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "monitor", "column", "signature"),
    [
        pytest.param(
            "translator_transformer", "val_bleu", "bleu_signature", "tok:zh", marks=pytest.mark.slow
        ),
        pytest.param(
            "webnlg_graph", "val_bleu", "bleu_signature", "tok:zh", marks=pytest.mark.slow
        ),
        ("scenes", "val_cider_d", "tokenizer", CAPTIONS),
    ],
)
def test_the_monitor_moves_or_the_loss_selects(name, monitor, column, signature, tmp_path, capsys):
    row = BY_NAME[name]
    data, values = rewrite(row.data(tmp_path)), {"epochs": 3, "monitor": monitor, "patience": 1}
    experiment = load_recipe(name).replaced({**row.values, **values})
    run = training.train(experiment, data, tmp_path / "run", name, verbose=0)
    rows, kept = history(run.folder), run.description["kept"]
    assert all(signature in line[column] for line in rows)
    if len({line[monitor] for line in rows}) == 1:
        losses = [line["val_loss"] for line in rows]
        assert len(rows) == 3 and kept["monitor"] == "val_loss" and monitor in kept["constant"]
        assert losses[kept["epoch"] - 1] == min(losses)
        assert f"{monitor} was 0 in every epoch, so " in capsys.readouterr().out
    else:
        assert kept["monitor"] == monitor


@pytest.mark.slow
def test_table_card_and_flag_name_the_tokenization(tmp_path, capsys):
    row, model = BY_NAME["translator_transformer"], tmp_path / "model"
    data, values = rewrite(row.data(tmp_path)), {**row.values, "epochs": 1}
    experiment = load_recipe(row.name).replaced(values)
    run = training.train(experiment, data, tmp_path / "run", row.name, verbose=0)
    assert main(["export", str(run.folder), str(model), "--data", str(data)]) == 0
    assert "|tok:zh|" in (model / "README.md").read_text("utf-8")
    other = ["--metric-tokenization", "intl"]
    for path, flags, name in (
        (run.folder, other, "intl"),
        (model, [], "zh"),
        (model, other, "intl"),
    ):
        asked = ["evaluate", str(path), "--data", str(data)]
        capsys.readouterr()
        assert main([*asked, *flags]) == 0
        assert f"|tok:{name}|" in capsys.readouterr().out
    assert main([*asked, "--metric-tokenization", "flores200"]) == 2
    assert "Received: metric_tokenization='flores200'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_stopped_training_goes_on_with_the_tokenization_that_it_chose(tmp_path, monkeypatch):
    """Also where MeCab has been installed in between."""
    row = BY_NAME["translator_transformer"]
    data = rewrite(row.data(tmp_path), HIRAGANA)
    experiment = load_recipe(row.name).replaced({**row.values, "monitor": "val_bleu"})
    saved = Checkpoint.save

    def stop(self, *arguments):
        saved(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(TOKENIZATION, "_has_mecab", lambda: False)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", stop)
        with pytest.raises(KeyboardInterrupt):
            training.train(experiment, data, tmp_path / "run", row.name, verbose=0)
    monkeypatch.setattr(TOKENIZATION, "_has_mecab", lambda: True)
    run = training.train(experiment, data, tmp_path / "run", row.name, verbose=0)
    assert ["tok:char" in line["bleu_signature"] for line in history(run.folder)] == [True, True]
    assert Run(run.folder).experiment().task.scoring.metric_tokenization == "char"
    with pytest.raises(ValueError, match="metric_tokenization='char' instead of 'intl'"):
        other = experiment.replaced({"metric_tokenization": "intl"})
        training.train(other, data, tmp_path / "run", row.name, verbose=0)
