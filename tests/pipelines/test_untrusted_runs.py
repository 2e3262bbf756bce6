"""Runs, SavedModels and arrays that hold code: every command refuses them, and none runs it."""

import json
import pickle
import re
import shutil
import tarfile

import numpy as np
import pytest

from keras_attn.alignment import load_aligner
from keras_attn.contracts import METADATA_FILE
from keras_attn.pretrained.files import read_checkpoint_files
from keras_attn.text.label_table import LabelTable
from keras_attn.whole_file import digest_of
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from keras_attn_pipelines.tasks.classification.digits import read_digits
from tests.golden.make_release import OPTIONS, RELEASES
from tests.test_escaping import HOSTILE, SIGNS
from tests.training.test_model_file import write_lambda

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

LAMBDA = "one with a Lambda, whose code would be run"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A run, finished and stopped, its data and its export."""
    folder = tmp_path_factory.mktemp("release")
    with tarfile.open(next(RELEASES.glob("*/text_classifier.tar.xz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder


class Trace:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_run_with_a_lambda_is_refused_by_every_command(release, tmp_path, capsys):
    run, trace = Run(shutil.copytree(release / "finished", tmp_path / "run")), tmp_path / "trace"
    write_lambda(run.folder / "model.keras", trace)
    kept = {**run.description["kept"], "sha256": digest_of(run.folder / "model.keras")}
    run.describe({**run.description, "kept": kept})
    path, data = str(run.folder), ["--data", str(release / "data")]
    for command in (
        ["evaluate", path, *data],
        ["export", path, str(tmp_path / "saved")],
        ["average", path, path, "--out", str(tmp_path / "mean")],
        ["train", "text_classifier", "--from", path, *data, "--out", str(tmp_path / "next")],
    ):
        assert main(command) == 2, command
        assert LAMBDA in capsys.readouterr().err
    assert not trace.exists() and sorted(tmp_path.iterdir()) == [run.folder]


def test_a_saved_model_whose_config_has_a_lambda_is_refused(release, tmp_path, capsys):
    folder = shutil.copytree(release / "saved_model", tmp_path / "saved")
    path = folder / "1" / METADATA_FILE
    metadata = json.loads(path.read_text())
    metadata["model"]["config"]["encoder"] = {"class_name": "Lambda", "config": {"function": "x"}}
    path.write_text(json.dumps(metadata))
    command = ["train", "text_classifier", "--from", str(folder), "--out", str(tmp_path / "next")]
    assert main([*command, "--data", str(release / "data")]) == 2
    assert LAMBDA in capsys.readouterr().err


def test_a_pickle_in_a_checkpoint_is_not_loaded(release, tmp_path, capsys):
    folder, trace = shutil.copytree(release / "stopped", tmp_path / "run"), tmp_path / "trace"
    with np.load(folder / "checkpoint.npz") as saved:
        arrays = dict(saved)
    arrays["model 0"] = np.array([Trace(trace)], object)
    np.savez(folder / "checkpoint.npz", **arrays)
    trace.unlink(missing_ok=True)
    with pytest.raises(ValueError, match="Received: a damaged file"):
        resumed(release, folder)
    assert not trace.exists()


def resumed(release, folder):
    run = Run(folder)
    return train(run.experiment(), release / "data", folder, run.description["recipe"], **OPTIONS)


@pytest.mark.parametrize("read", [read_checkpoint_files, lambda path: read_digits(path, 0.1)])
def test_a_pickle_in_an_archive_of_arrays_is_not_loaded(read, tmp_path):
    trace, path = tmp_path / "trace", tmp_path / "arrays.npz"
    array = np.array([Trace(trace)], object)
    names = ("x_train", "y_train", "x_test", "y_test", "cls")
    np.savez(path, **dict.fromkeys(names, array))
    trace.unlink(missing_ok=True)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        read(path)
    assert not trace.exists()


def test_a_pickle_in_an_aligner_is_not_loaded(tmp_path):
    trace = tmp_path / "trace"
    description = {"format": 1, "words": [["a"], ["b"]], "options": {}}
    (tmp_path / "aligner.json").write_text(json.dumps(description))
    np.savez(tmp_path / "tables.npz", keys=np.array([Trace(trace)], object))
    trace.unlink(missing_ok=True)
    with pytest.raises(ValueError, match=r"tables\.npz: Object arrays cannot be loaded"):
        load_aligner(tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize("suffix", ["bin", "pth", "safetensors", "npz"])
def test_a_bare_pickle_is_no_checkpoint(suffix, tmp_path):
    trace, path = tmp_path / "trace", tmp_path / f"model.{suffix}"
    path.write_bytes(pickle.dumps(Trace(trace)))
    with pytest.raises(ValueError, match="Received: "):
        read_checkpoint_files(path)
    assert not trace.exists()


@pytest.mark.systems
def test_names_from_data_are_no_markup_on_a_card_and_no_command_in_a_terminal(
    release, tmp_path, capsys
):
    """Every text of a run, of its labels and of its data is hostile."""
    run = Run(shutil.copytree(release / "finished", tmp_path / "`<b>run"))
    hostile = "".join(text for text in HOSTILE if "\x07" not in text)
    description = run.description
    texts = dict.fromkeys(("recipe", "data", "strategy", "unit", "model"), hostile)
    inherited = {"License": "<script>", "Use and limits": "*a* <!-- b", "terms": hostile}
    run.describe(
        {
            **description,
            **texts,
            "origin": {"name": hostile, **inherited},
            "mean_of": [hostile],
            "records": {hostile: 3, "train": 5},
        }
    )
    labels = run.vocabularies()["labels"]
    names = [f"{name} {' '.join(hostile.split())}" for name in labels.names]
    LabelTable(names).save(run.folder / "labels")
    data = shutil.copytree(release / "data", tmp_path / "<i>data")
    for path in data.iterdir():
        rows = path.read_text().split("\n")
        path.write_text("\n".join([rows[0], *(row and f"{row} {hostile!r}" for row in rows[1:])]))
    command = ["export", str(run.folder), str(tmp_path / "model"), "--data", str(data)]
    assert main([*command, "--terms", hostile]) == 0
    card = (tmp_path / "model" / "README.md").read_text()
    headings = re.findall("^#+ .*", card, re.MULTILINE)
    assert card.count("<details>\n<summary>") == 2
    card = re.sub("</?(details|summary)>", "", card)
    assert "<" not in card and not SIGNS.search(card) and "onerror" in card
    assert not re.search(r"\]\(|!\[|://", re.sub("`[^`]*`", "", card))
    assert main(["evaluate", str(run.folder), "--data", str(data)]) == 0
    assert main(["predict", str(tmp_path / "model"), "a \x1b[31m text"]) == 0
    assert not SIGNS.search("".join(capsys.readouterr()).replace("\r", ""))
    assert len(headings) > 5


def commands_on(run, data, folder):
    """Every command that reads the weights and vocabularies of a run."""
    path = str(run)
    return [
        ["evaluate", path, "--data", str(data)],
        ["export", path, str(folder / "saved")],
        ["average", path, path, "--out", str(folder / "mean")],
        ["train", "text_classifier", "--from", path, "--data", str(data), "--out", f"{path}-next"],
    ]


@pytest.fixture(scope="module")
def trained(release, tmp_path_factory):
    """A run and its export, as this version writes them."""
    folder = tmp_path_factory.mktemp("trained")
    experiment = Run(release / "finished").experiment().replaced({"epochs": 1})
    run = train(experiment, release / "data", folder / "run", "text_classifier", verbose=0)
    assert main(["export", str(run.folder), str(folder / "model"), "--no-evaluate"]) == 0
    return folder


def test_exchanged_vocabularies_are_refused(trained, release, tmp_path, capsys):
    run = Run(shutil.copytree(trained / "run", tmp_path / "run"))
    model = shutil.copytree(trained / "model", tmp_path / "model")
    for folder in (run.folder, model / "1" / "assets.extra"):
        LabelTable(LabelTable.load(folder / "labels").names[::-1]).save(folder / "labels")
    commands = commands_on(run.folder, release / "data", tmp_path)
    for command in [*commands, *commands_on(model, release / "data", tmp_path)[::3]]:
        assert main(command) == 2, command
        assert "/labels. Received: damaged or different ones" in capsys.readouterr().err, command
    assert {path.name for path in tmp_path.iterdir()} == {"run", "model"}


def test_what_has_no_digests_is_read_with_a_note(release, capsys):
    assert main(["evaluate", str(release / "finished"), "--data", str(release / "data")]) == 0
    assert "has no digests of tokenizer and labels" in capsys.readouterr().err


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_weights_that_are_not_finite_are_refused(value, trained, release, tmp_path, capsys):
    run = Run(shutil.copytree(trained / "run", tmp_path / "run"))
    model = run.model()
    weight = model.weights[-1]
    weight.assign(np.full(weight.shape, value))
    model.save(run.folder / "model.keras")
    kept = {**run.description["kept"], "sha256": digest_of(run.folder / "model.keras")}
    run.describe({**run.description, "kept": kept})
    for command in commands_on(run.folder, release / "data", tmp_path):
        assert main(command) == 2, command
        assert "Expected finite weights in " in capsys.readouterr().err, command
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
