"""What the command line answers without TensorFlow, and what reaches the terminal."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys

import pytest

from keras_attn.version import __version__
from keras_attn_pipelines.cli import main
from tests.pipelines import toy_language
from tests.processes import ROOT
from tests.recipes.shared import flags

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
    (folder / "own.py").write_text("mine")
    return folder


def train(recipe, *arguments):
    """A command that trains on the folder of the test."""
    return ["train", recipe, "--data", "{folder}", "--out", "{folder}/new", *arguments]


DATA = ("--data", "{folder}")
UNWRITABLE = [
    ("", ["train", "scenes", *DATA, "--out", "/proc/x"]),
    ("", train("scenes", "--cache", "/proc/x")),
    ("", ["prepare", "scenes", *DATA, "--out", "/proc/x"]),
    ("", ["average", "{folder}/run", "{folder}/run", "--out", "/proc/x"]),
    ("", ["export", "{folder}/run", "/proc/x"]),
    (".json", ["evaluate", "{folder}/run", *DATA, "--json", "/proc/x.json"]),
    (".png", ["explain", "{folder}/model", "x", "--out", "/proc/x.png"]),
    ("", ["predict", "{folder}/model", "x", "--crops", "/proc/x"]),
    (".txt", ["align", "{folder}/train.tsv", "--out", "/proc/x.txt"]),
    ("", ["align", "{folder}/train.tsv", "--save", "/proc/x"]),
    (".py", ["new", "/proc/x.py", "--like", "tagging"]),
]
"""Commands that are refused for where they would write, before they read anything."""
CASES = [
    (["--version"], 0, f"keras-attn {__version__}"),
    (["recipes", "scenes"], 0, "hidden_dim"),
    (["recipes", "scene"], 2, "Did you mean 'scenes'?"),
    (["new", "{folder}/my_task", "--like", "tagging"], 2, "Expected a .py file"),
    (["new", "{folder}/mine.py", "--like", "parsing"], 2, "Received: like='parsing'"),
    (["new", "{folder}/own.py", "--like", "tagging"], 2, "own.py, which is there already"),
    (["new", "{folder}/no/own.py", "--like", "tagging"], 2, "in a folder that exists"),
    (["new", "{folder}/new.py", "--like", "regression"], 0, "train {folder}/new.py --data ratings"),
    (["recipes"], 0, "Text to text\n  translator_conv           pairs of texts "),
    (["predcit", "m", "x"], 2, "no command 'predcit'; did you mean predict?"),
    (["train", "--help"], 0, "flags of a recipe: keras-attn train RECIPE --help"),
    (["train", "scenes", "--help"], 0, "common flags:\n  --data PATH"),
    (train("scenes", "--epoch=3"), 2, "unknown arguments: --epoch=3; did you mean --epochs?; see"),
    (train("scenes", "--no-such-flag"), 2, "unknown arguments: --no-such-flag"),
    (train("scenes", "no\x1bsuch\nplace"), 2, r"unknown arguments: no\x1bsuch place; see"),
    (train("scenes", "--from", ""), 2, "Expected a value of --from. Received: an empty one"),
    (
        ["evaluate", "", "--data", "x"],
        2,
        "Expected a value of RUN|SAVED_MODEL. Received: an empty one",
    ),
    (["predict", "--", "-m", "x"], 2, "Received: -m, no such folder"),
    (["predict", "m", "--json", "--", "-x"], 2, "Received: m, no such folder"),
    (["export", "r", "--storage", "float16", "--", "-s", "-t"], 2, "unknown arguments: -t; see"),
    (["align", "a", "--out", "x", "--", "-b", "-c"], 2, "unknown arguments: -c; see"),
    (["align", "--out", "x", "--", "-a", "-b"], 2, "Received: -a, no such file"),
    (train("scenes", "--dropout", "2"), 2, "Expected dropout >= 0 and < 1. Received: dropout=2.0"),
    (
        train("translator_rnn", "--source-column", "en", "--target-column", "b"),
        2,
        "Expected a column named 'en' in {folder}/train.tsv (set --source-column). Received: a, b",
    ),
    (train("flickr8k"), 2, "(set --image-column and --caption-column). Received: a, b"),
    (train("vit_classifier"), 2, "(set --image-column and --label-column). Received: a, b"),
    (train("text_classifier"), 2, "(set --text-column and --label-column). Received: a, b"),
    (train("parser_transformer"), 2, "Expected .mrg, .ptb, .tree, .trees, .fid files"),
    (train("babi_memory_network"), 2, "Expected files such as qa1_single-supporting-fact_train"),
    (train("progressive_memory"), 2, "Expected "),
    (train("webnlg_graph"), 2, "column for the text, one of texts, text, target"),
    (["train", "scenes", "--data", "{folder}/no", "--out", "x"], 2, "Expected data at {folder}/no"),
    (train("scenes", "--strategy", "multiworker"), 2, "Expected TF_CONFIG such as "),
    (train("scenes", "--strategy", "tpu"), 2, "Expected KERAS_BACKEND=jax for strategy 'tpu'"),
    (["evaluate", "{folder}/no", "--data", "{folder}"], 2, "Received: {folder}/no, no such folder"),
    (
        ["explain", "{folder}/run", "x", "--out", "x.png"],
        2,
        "a run; export it: keras-attn export {folder}/run",
    ),
    (["export", "{folder}/no", "x"], 2, "Received: {folder}/no, no such folder"),
    (["export", "{folder}/model", "x"], 2, "Received: {folder}/model, a SavedModel"),
    (
        ["export", "{folder}/run", "{folder}/new", *DATA, "--no-evaluate"],
        2,
        "Expected no --no-evaluate beside --data, which is for the evaluation. Received: both",
    ),
    (["export", "{folder}/run", "{folder}/new", "--split=test", "--no-evaluate"], 2, "--split, "),
    (["average", "{folder}/run", "{folder}/babi", "--out", "x"], 2, "/babi, no run"),
    (["predict", "flickr8k_captioner", "{folder}/no.jpg"], 2, "{folder}/no.jpg, no such file"),
    (["explain", "flickr8k_captioner", "{folder}", "--out", "x.png"], 2, "without pictures"),
    (["predict", "{folder}/model", "--file", "{folder}/no"], 2, "Expected a file of inputs."),
    (["explain", "{folder}/model", "x", "--out", "x.gif"], 2, "Expected a .png, .svg or .pdf file"),
    (["explain", "{folder}/model", "x", "--out", "no/x.png"], 2, "in a folder that exists"),
    *((command, 2, f"/proc/x{kind}") for kind, command in UNWRITABLE),
]


def test_checks_before_tensorflow_is_imported(folder):
    commands = [[part.format(folder=folder) for part in command] for command, _, _ in CASES]
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    answers, loaded = json.loads(done.stdout)
    for (command, code, text), answer in zip(CASES, answers):
        assert answer[0] == code, (command, answer)
        assert text.format(folder=folder) in answer[1], (command, answer)
        assert code == 0 or "--help" not in answer[1] or answer[1].count("\n") == 1, answer
    assert loaded == [] and not (folder / "new").exists()
    assert (folder / "own.py").read_text() == "mine" and not (folder / "mine.py").exists()


@pytest.mark.systems
@pytest.mark.parametrize("shown", ["", "1"])
def test_native_libraries_are_quiet_unless_asked_for(shown):
    environment = {**os.environ, "KERAS_ATTN_NATIVE_LOG": shown}
    done = subprocess.run(
        [sys.executable, "-c", NATIVE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (3, "answer\n")
    assert "Python\n" in done.stderr
    assert ("native library\n" in done.stderr) == bool(shown)


@pytest.mark.systems
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


TEMPORARY = """
import os, signal, sys, tempfile
from keras_attn_pipelines import console

def main():
    tempfile.mkstemp()
    if sys.argv[1] == "KILL":
        os.kill(os.getpid(), signal.SIGKILL)
    return 3

console.run(main)
"""


@pytest.mark.systems
def test_temporary_files_do_not_stay(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for told, code in (("KILL", -9), ("", 3)):
        command = [sys.executable, "-c", TEMPORARY, told]
        assert subprocess.run(command, cwd=ROOT, env=environment).returncode == code
        assert bool(list(tmp_path.iterdir())) == bool(told)


def test_prepare_looks_for_its_packages_before_it_reads(folder, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    command = ["prepare", "translator_rnn", "--data", folder, "--out", folder / "shards"]
    assert main([str(argument) for argument in command]) == 2
    told = capsys.readouterr().err
    assert "Expected tensorflow_datasets for shards." in told and "keras-attn[tfds]" in told


@pytest.mark.systems
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_signal_ends_training_with_a_sentence(number, tmp_path):
    data = toy_language.write_folder(tmp_path / "data")
    values = {**toy_language.TINY, "batch_tokens": 112, "warmup_steps": 3, "epochs": 900}
    (tmp_path / "tmp").mkdir()
    command = [sys.executable, "-m", "keras_attn_pipelines", "train", "translator_transformer"]
    command += ["--data", data, "--out", tmp_path / "run", *flags(values)]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as training:
        while "epoch 2 of 900" not in (line := training.stdout.readline()):
            assert line or training.poll() is None, training.stderr.read()
        training.send_signal(number)
        _, told = training.communicate(timeout=60)
    assert training.returncode == 128 + number
    assert re.fullmatch(
        r"keras-attn: stopped; rerun the same command to resume at epoch \d+, step \d+ of \d+\n",
        told,
    )
    assert not list((tmp_path / "tmp").iterdir())
