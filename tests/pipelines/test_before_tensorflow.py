"""What the command line answers without TensorFlow, and what reaches the terminal."""

import json
import os
import subprocess
import sys

import pytest

from keras_attn.version import __version__
from keras_attn_pipelines.cli import main
from tests.processes import ROOT

PROGRAM = """
import contextlib, io, json, sys
from keras_attn_pipelines.cli import main
answers = []
for command in json.loads(sys.argv[1]):
    shown, refused = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(refused):
        try:
            code = main(command)
        except SystemExit as end:
            code = end.code
    answers.append([code, shown.getvalue() + refused.getvalue()])
loaded = [name for name in ("keras", "tensorflow") if name in sys.modules]
print(json.dumps([answers, loaded]))
"""
NATIVE = """
import os, sys
from keras_attn_pipelines import console

def main():
    os.write(2, b"native library\\n")
    print("Python", file=sys.stderr)
    print("answer")
    return 3

console.run(main)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "train.tsv").write_text("a\tb\nx\ty\n")
    (folder / "model").mkdir()
    (folder / "model" / "saved_model.pb").write_bytes(b"")
    (folder / "run").mkdir()
    (folder / "run" / "recipe.json").write_text("{}")
    (folder / "babi").mkdir()
    return folder


def train(recipe, *arguments):
    """A command that trains on the folder of the test."""
    return ["train", recipe, "--data", "{folder}", "--out", "{folder}/new", *arguments]


CASES = [
    (["--version"], 0, f"keras-attn {__version__}"),
    (["recipes", "scenes"], 0, "hidden_dim"),
    (["recipes", "scene"], 2, "Did you mean 'scenes'?"),
    (train("scenes", "--no-such-flag"), 2, "unknown arguments: --no-such-flag"),
    (train("scenes", "--dropout", "2"), 2, "Expected dropout >= 0 and < 1. Received: dropout=2.0"),
    (
        train("translator_rnn", "--source-column", "en", "--target-column", "b"),
        2,
        "Expected a column 'en' in {folder}/train.tsv (set --source-column). Received: ['a', 'b']",
    ),
    (train("flickr8k"), 2, "(set --image-column and --caption-column). Received: ['a', 'b']"),
    (train("vit_classifier"), 2, "(set --image-column and --label-column). Received: ['a', 'b']"),
    (train("text_classifier"), 2, "(set --text-column and --label-column). Received: ['a', 'b']"),
    (train("parser_transformer"), 2, "Expected .mrg, .ptb, .tree, .trees files"),
    (train("babi_memory_network"), 2, "Expected files such as qa1_single-supporting-fact_train"),
    (train("progressive_memory"), 2, "Expected "),
    (train("webnlg_graph"), 2, "column for the text, one of texts, text, target"),
    (["train", "scenes", "--data", "{folder}/no", "--out", "x"], 2, "Expected data at {folder}/no"),
    (train("scenes", "--strategy", "multiworker"), 2, "Expected TF_CONFIG such as "),
    (["evaluate", "{folder}/no", "--data", "{folder}"], 2, "Received: {folder}/no, no such folder"),
    (["predict", "{folder}/run", "x"], 2, "a run; export it: keras-attn export {folder}/run"),
    (["predict", "{folder}/model", "--file", "{folder}/no"], 2, "Expected a file of inputs."),
    (["explain", "{folder}/model", "x", "--out", "x.gif"], 2, "Expected a .png, .svg or .pdf file"),
    (["explain", "{folder}/model", "x", "--out", "no/x.png"], 2, "in a folder that exists"),
]


def test_checks_before_tensorflow_is_imported(folder):
    commands = [[part.format(folder=folder) for part in command] for command, _, _ in CASES]
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    answers, loaded = json.loads(done.stdout)
    for (command, code, text), answer in zip(CASES, answers):
        assert answer[0] == code, (command, answer)
        assert text.format(folder=folder) in answer[1], (command, answer)
    assert loaded == [] and not (folder / "new").exists()


@pytest.mark.parametrize("shown", ["", "1"])
def test_native_libraries_are_quiet_unless_asked_for(shown):
    environment = {**os.environ, "KERAS_ATTN_NATIVE_LOG": shown}
    done = subprocess.run(
        [sys.executable, "-c", NATIVE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (3, "answer\n")
    assert "Python\n" in done.stderr
    assert ("native library\n" in done.stderr) == bool(shown)


def test_models_are_known_to_keras_after_a_lazy_import():
    program = (
        "import keras_attn_pipelines.cli, sys; assert 'keras' not in sys.modules\n"
        "from keras_attn_pipelines.runs.run import Run; import keras\n"
        "print(keras.saving.get_registered_object('keras_attn>Transformer').__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "Transformer\n", done.stderr[-2000:]


def test_backends(folder, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    command = [part.format(folder=folder) for part in train("scenes")]
    assert main(command) == 2
    assert "Expected a KERAS_BACKEND of ('tensorflow', 'jax')" in capsys.readouterr().err
    assert main(["recipes", "scenes"]) == 0
    assert os.environ["KERAS_BACKEND"] == "tensorflow"
