"""Outputs that cannot be written: one line, exit code 2, nothing destroyed and nothing left."""

import contextlib
import hashlib
import os
import signal
from pathlib import Path

import pytest

from keras_attn.saved.loading import load
from keras_attn.serving.export import export_service
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.experiment.stored import stored
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs.run import MODEL_FILE, Run
from tests.pipelines.encoded import built
from tests.recipes.shared import flags

resource = pytest.importorskip("resource", reason="limits of a process are POSIX's")

SIZES = {"hidden_dim": 7, "embedding_dim": 3, "attention_dim": 5, "vocabulary_size": 300}
CHOICES = {"image_size": 29, "batch_size": 5, "epochs": 1, "monitor": "val_loss"}
FILE_TOO_LARGE = "Received: File too large"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "scenes"
    return write_scenes(folder, train=11, dev=3, test=2, novel=1)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    """A run directory as training leaves it, untrained."""
    run, recipe = Run(tmp_path_factory.mktemp("runs") / "run"), RECIPE.replaced(SIZES | CHOICES)
    tokenizer = recipe.work.learn(recipe.source.read(data).splits["train"])["tokenizer"]
    sizes = {"tokenizer": tokenizer.vocabulary_size}
    facts = {"precision": "float32", "strategy": "one", "unit": "pictures", "model": "small"}
    facts |= {"records": {"train": 11}, "vocabularies": sizes, "data": str(data)}
    run.describe({"recipe": "scenes", "parts": stored(recipe), **facts})
    tokenizer.save(run.folder / "tokenizer")
    built(recipe, **sizes).save(run.folder / MODEL_FILE)
    return run


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    """A model's folder with one version."""
    return export_service(run.service(), tmp_path_factory.mktemp("models") / "m", "card").parent


@pytest.fixture
def place(tmp_path):
    """A folder with what a user may have there."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "old.png").write_text("mine")
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "README.md").write_text("mine")
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    return tmp_path


@pytest.fixture
def read_only(tmp_path):
    """A folder that nothing can be written to; permissions do not bind root."""
    if os.geteuid() == 0:
        if not Path("/proc/self").exists():
            pytest.skip("no folder here that root cannot write to")
        return Path("/proc")
    folder = tmp_path / "read_only"
    folder.mkdir(mode=0o500)
    return folder


@contextlib.contextmanager
def no_file_above(size):
    """As on a full disk, writes fail: those past `size` bytes of a file."""
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def tree(folder):
    """What is in a folder: digests of files, None for folders."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def refused(capsys, command):
    """The one line that a command ends with."""
    capsys.readouterr()
    assert main([str(argument) for argument in command]) == 2
    lines = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("keras-attn: ")
    ]
    assert len(lines) == 1 and "Expected" in lines[0] and "Received: " in lines[0]
    return lines[0]


def training(data, out, *more):
    choices = flags({**SIZES, **CHOICES, "lengths": (13, 60)})
    return ["train", "scenes", "--data", data, "--out", out, *choices, *more]


@pytest.mark.parametrize("out", ["file", "file/run", "foreign"])
def test_train_out(out, data, place, capsys):
    before = tree(place)
    line = refused(capsys, training(data, place / out))
    assert f"Received: {'a file' if 'file' in out else place / out}" in line
    assert tree(place) == before


def test_train_out_read_only(data, read_only, capsys):
    line = refused(capsys, training(data, read_only / "run"))
    assert f"Expected a folder at {read_only / 'run'}, to write to" in line


@pytest.mark.parametrize("cache", ["file", "file/cache"])
def test_train_cache(cache, data, place, capsys):
    before = tree(place)
    more = ["--no-fine-tune", "--cache", place / cache]
    line = refused(capsys, training(data, place / "run", *more))
    assert f"Expected a folder at {place / cache}" in line
    assert tree(place) == before


@pytest.mark.systems
def test_train_cache_on_a_full_disk(data, tmp_path, capsys):
    more = ["--no-fine-tune", "--cache", tmp_path / "cache"]
    with no_file_above(20_000):
        line = refused(capsys, training(data, tmp_path / "run", *more))
    assert "bytes of features to" in line and FILE_TOO_LARGE in line
    assert tree(tmp_path) == {"cache": None}


@pytest.mark.slow
def test_train_on_a_full_disk_and_again_on_one_with_room(data, tmp_path, capsys):
    command = [str(argument) for argument in training(data, tmp_path / "run")]
    with no_file_above(100_000):
        line = refused(capsys, command)
    assert f"{MODEL_FILE}. {FILE_TOO_LARGE}" in line
    assert not [name for name in tree(tmp_path) if ".keras-attn-" in name or MODEL_FILE in name]
    assert main(command) == 0
    assert Run(tmp_path / "run").service().max_length == 60


def test_a_run_is_described_whole(run, tmp_path):
    """Files smaller than what a training's own temporary ones need."""
    description, copy = run.description, Run(tmp_path / "run")
    copy.describe(description)
    run.vocabularies()["tokenizer"].save(copy.folder / "tokenizer")
    before, other = tree(tmp_path), Tokenizer.learn(["a red circle"], 270)
    with no_file_above(100):
        with pytest.raises(OSError, match=f"recipe.json. {FILE_TOO_LARGE}"):
            copy.describe({**description, "ended": True})
        with pytest.raises(OSError, match=f"sentencepiece.model. {FILE_TOO_LARGE}"):
            other.save(copy.folder / "tokenizer")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("out", ["file", "file/model", "foreign"])
def test_export(out, run, place, capsys):
    before = tree(place)
    line = refused(capsys, ["export", run.folder, place / out])
    assert ("with README.md, notes.txt" if out == "foreign" else "a file at") in line
    assert tree(place) == before


def test_export_read_only(run, read_only, capsys):
    line = refused(capsys, ["export", run.folder, read_only / "model"])
    assert f"Expected a folder at {read_only / 'model'}, to write to" in line


@pytest.mark.slow
def test_export_on_a_full_disk(run, exported, tmp_path, capsys):
    before = tree(exported)
    with no_file_above(100_000):
        line = refused(capsys, ["export", run.folder, exported])
        assert f"Expected to write a version into {exported}. {FILE_TOO_LARGE}" in line
        refused(capsys, ["export", run.folder, tmp_path / "new"])
    assert tree(exported) == before and not tree(tmp_path)


def test_explain(exported, data, place, capsys):
    before, picture = tree(place), data / "images" / "test_00000.png"
    line = refused(capsys, ["explain", exported, picture, "--out", place / "folder.png"])
    assert f"Expected a file to write. Received: the folder {place / 'folder.png'}" in line
    drawing = load(exported).explain(picture)
    for out in ("file/x.png", "none/x.png"):
        with pytest.raises(OSError, match=f"Expected to write {place / out}. Received: N"):
            drawing.save(place / out)
    with pytest.raises(ValueError, match=r"Expected a \.png, \.svg or \.pdf file"):
        drawing.save(place / "foreign")
    with (
        no_file_above(1_000),
        pytest.raises(OSError, match=f"Expected to write {place / 'old.png'}. {FILE_TOO_LARGE}"),
    ):
        drawing.save(place / "old.png")
    assert tree(place) == before


@pytest.mark.parametrize("out", ["file/x.json", "none/x.json", "foreign"])
def test_evaluate_json(out, run, data, place, capsys):
    before = tree(place)
    command = ["evaluate", run.folder, "--data", data, "--split", "test", "--json", place / out]
    expected = "a file to write" if out == "foreign" else "a file in a folder that exists"
    assert f"Expected {expected}" in refused(capsys, command)
    assert tree(place) == before


def test_outputs_that_are_inputs(run, exported, data, place, capsys):
    before, captions = tree(data) | tree(place), next(data.glob("*.txt"))
    picture = data / "images" / "test_00000.png"
    (place / "link.png").symlink_to(picture)
    sides = [place / "file", place / "old.png"]
    for command in (
        ["evaluate", run.folder, "--data", data, "--json", captions],
        ["evaluate", run.folder, "--data", data, "--json", run.folder / MODEL_FILE],
        ["explain", exported, picture, "--out", picture],
        ["explain", exported, picture, "--out", place / "link.png"],
        ["align", *sides, "--out", place / "file"],
        ["align", *sides, "--load", place / "foreign", "--out", place / "foreign" / "README.md"],
    ):
        line = refused(capsys, command)
        assert line.endswith(f"Expected a file to write that is no input. Received: {command[-1]}")
    (place / "link.png").unlink()
    assert tree(data) | tree(place) == before


@pytest.mark.systems
@pytest.mark.parametrize("command", ["train", "export"])
def test_an_empty_folder_stays_where_a_command_fails(command, run, data, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    if command == "train":
        refused(capsys, [*training(data, tmp_path / "out"), "--vocabulary-size", 3])
    else:
        with no_file_above(1_000):
            refused(capsys, ["export", run.folder, tmp_path / "out"])
    assert tree(tmp_path) == {"out": None}


@pytest.mark.slow
def test_evaluate_json_on_a_full_disk(run, data, place, capsys):
    before, out = tree(place), place / "file"
    command = ["evaluate", run.folder, "--data", data, "--split", "test", "--json", out]
    with no_file_above(500):
        line = refused(capsys, command)
    assert f"Expected to write {out}. {FILE_TOO_LARGE}" in line
    assert tree(place) == before
