"""Run directories: one training at a time, on the data it began with; damaged files are named."""

import dataclasses
import errno
import json
import os
import shutil
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import METADATA_FILE
from keras_attn.saved.loading import load
from keras_attn.saved.versions import version_folder
from keras_attn.serving.export import model_card
from keras_attn.whole_file import make_marked_folder, mark, write_pending
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.runs.origin import (
    INHERITED,
    LICENSE,
    LIMITS,
    fold_inherited,
    origin_of_run,
    origin_of_version,
    with_inherited,
)
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.run_predictor import RunPredictor
from tests.recipes.registry import BY_NAME

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

DESCRIPTION = {
    "recipe": "scenes",
    "parts": {},
    "data": "/data",
    "from": None,
    "precision": "float32",
    "strategy": "one",
    "unit": "pictures",
    "records": {"train": 3},
    "model": "tiny",
    "vocabularies": {"tokenizer": 7},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the smallest recipe."""
    from keras_attn_pipelines.recipes import load_recipe
    from keras_attn_pipelines.runs.train import train

    row, folder = BY_NAME["digits_stn"], tmp_path_factory.mktemp("runs")
    experiment = load_recipe(row.name).replaced({**row.values, "epochs": 1})
    return train(experiment, row.data(folder), folder / "run", row.name, verbose=0)


def written(folder, content):
    folder.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / "recipe.json").write_text(text)
    return Run(folder)


def test_one_training_at_a_time(tmp_path):
    run = Run(tmp_path / "run")
    with run.locked():
        with (
            pytest.raises(ValueError, match=r"no other process trains into\. Received: .*locked"),
            Run(run.folder).locked(),
        ):
            pass
        written(run.folder, DESCRIPTION)
    with run.locked():
        pass
    with Run(tmp_path / "new").locked():
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_a_folder_of_other_things_is_left_as_it_is(tmp_path, capsys):
    (tmp_path / "photo.jpg").write_bytes(b"x")
    (tmp_path / "photo.txt").write_text("a photo")
    assert main(["train", "scenes", "--data", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "Expected a run directory with recipe.json" in capsys.readouterr().err
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["photo.jpg", "photo.txt"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "Expected JSON in"),
        ("[" * 100_000, "Expected JSON in"),
        ("[]", r"Expected a JSON object in .*recipe\.json"),
        ({**DESCRIPTION, "records": None}, r"records in .* to be an object of counts. Received: N"),
        ({**DESCRIPTION, "records": {"train": "3"}}, "to be an object of counts"),
        ({**DESCRIPTION, "vocabularies": [3]}, "vocabularies in .* to be an object of counts"),
        ({**DESCRIPTION, "data": 7}, "data in .* to be a string. Received: 7"),
        ({**DESCRIPTION, "from": 7}, "from in .* to be a string or null"),
        ({**DESCRIPTION, "ended": "yes"}, "ended in .* to be true or false"),
        ({**DESCRIPTION, "mean_of": "run"}, "mean_of in .* to be a list of paths"),
        ({**DESCRIPTION, "kept": {"epoch": 3}}, "kept in .* to be an object with sha256"),
        ({"parts": {}, "recipe": "x"}, "Expected data, model, precision, .* Received: nothing of"),
    ],
)
def test_descriptions_that_are_none(content, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        _ = written(tmp_path / "run", content).description


def flipped(path):
    """Flips one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def test_one_flipped_bit_in_a_model_is_noticed(run, tmp_path):
    damaged = Run(shutil.copytree(run.folder, tmp_path / "damaged"))
    flipped(damaged.folder / "model.keras")
    with pytest.raises(ValueError, match=r"that was kept at .*model\.keras\. Received: a damaged"):
        damaged.model()
    description = damaged.description
    damaged.describe({key: value for key, value in description.items() if key != "kept"})
    with pytest.raises(ValueError, match=r"a Keras model at .*model\.keras\. Received: a damaged"):
        damaged.model()


def test_an_archive_with_junk_in_it_is_noticed(run, tmp_path):
    damaged = Run(shutil.copytree(run.folder, tmp_path / "damaged"))
    description = damaged.description
    damaged.describe({key: value for key, value in description.items() if key != "kept"})
    for name in ("model.weights.h5", "config.json"):
        path = damaged.folder / "model.keras"
        with (
            zipfile.ZipFile(run.folder / "model.keras") as whole,
            zipfile.ZipFile(path, "w") as new,
        ):
            for entry in whole.namelist():
                new.writestr(entry, b"junk" if entry == name else whole.read(entry))
        with pytest.raises(
            ValueError, match=r"a Keras model at .*model\.keras\. Received: a damaged"
        ):
            damaged.model()


def test_an_output_that_is_missing_is_named(tmp_path):
    class Answering(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, name="source")])
        def answer(self, source):
            return {"words": tf.strings.length(source), "error": tf.zeros_like(source)}

    module = Answering()
    tf.saved_model.save(module, str(tmp_path / "m"), {"serving_default": module.answer})
    answer = next(iter(load(tmp_path / "m").answers(["two words"])))
    with pytest.raises(ValueError, match=r"'text' of serving_default\. Received: .*words"):
        answer["text"]


@pytest.mark.parametrize("version", ["this", "an earlier one"])
def test_what_a_kill_at_the_very_end_leaves_is_tidied(version, run, tmp_path):
    killed = Run(shutil.copytree(run.folder, tmp_path / "killed"))
    if version == "this":
        with write_pending(killed.folder / "model.keras") as partial:
            shutil.move(killed.folder / "model.keras", partial)
        mark(make_marked_folder(killed.folder / "mean-snapshots"))
        (killed.folder / ".keras-attn.lock").touch()
    else:
        (killed.folder / "model.keras").rename(killed.folder / "new-model.keras")
    np.savez(killed.folder / "checkpoint.npz", state=np.zeros(1))
    for weight, expected in zip(killed.model().get_weights(), run.model().get_weights()):
        np.testing.assert_array_equal(weight, expected)
    assert sorted(path.name for path in killed.folder.iterdir()) == sorted(
        path.name for path in run.folder.iterdir()
    )


def test_files_of_the_users_in_a_run_stay(run, tmp_path):
    mine = Run(shutil.copytree(run.folder, tmp_path / "mine")).folder
    snapshots = make_marked_folder(mine / "mean-snapshots")
    (snapshots / "000000004.npz").touch()
    shutil.copy(mine / "model.keras", mine / "new-model.keras")
    waiting = make_marked_folder(mine / ".new-model.keras")
    (snapshots / "mine").mkdir()
    kept = [mine / ".keras-attn.lock", snapshots / "notes.txt", snapshots / "mine" / "1.npz"]
    kept += [snapshots / "backup.npz", waiting / "notes.txt", mine / "new-model.keras"]
    for path in kept[:-1]:
        path.write_text("mine")
    assert Run(mine).model().get_weights()
    assert all(path.is_file() for path in kept) and not (snapshots / "000000004.npz").exists()


def test_an_ended_run_is_read_on_a_read_only_disk(run, tmp_path, monkeypatch):
    ended = Run(shutil.copytree(run.folder, tmp_path / "ended"))
    for name in (".lock", ".keras-attn.lock", "checkpoint.npz"):
        (ended.folder / name).touch()

    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("unlink", "mkdir", "touch", "rmdir"):
        monkeypatch.setattr(Path, name, refuse)
    assert ended.model().get_weights()
    assert (ended.folder / "checkpoint.npz").exists()


@dataclasses.dataclass(frozen=True)
class Seen:
    """A record with a picture."""

    path: Path
    label: str


def test_a_fingerprint_tells_records_apart(tmp_path):
    pairs = [TextPair("a", "b", 1), TextPair("ab", "", 2)]
    known = fingerprint({"train": pairs})
    assert fingerprint({"train": [TextPair("a", "b", 7), TextPair("ab", "", 9)]}) == known
    others = [
        {"train": pairs[::-1]},
        {"dev": pairs},
        {"train": pairs, "dev": []},
        {"train": [TextPair("ab", ""), TextPair("ab", "")]},
        {"train": [TextPair("a", "b"), TextPair("a", "b")]},
        {"train": [("a", "b"), ("ab", "")]},
        {"train": [["a", "b", "ab", ""]]},
        {"train": [1, 2.0, None, True, b"x"]},
        {"train": np.arange(6)},
        {"train": np.arange(6).reshape(2, 3)},
        {"train": np.arange(6, dtype="int32")},
        {"train": {"a": 1}},
    ]
    prints = [fingerprint(splits) for splits in others]
    assert len({known, *prints}) == len(others) + 1
    path = tmp_path / "a.jpg"
    path.write_bytes(b"one")
    first = fingerprint({"train": [Seen(path, "dog")]})
    path.write_bytes(b"two")
    assert fingerprint({"train": [Seen(path, "dog")]}) != first
    with pytest.raises(ValueError, match="made of texts, bytes, numbers, arrays and paths"):
        fingerprint({"train": [object()]})


def test_a_version_is_a_folder_with_a_graph(tmp_path):
    for name in ("1", "2"):
        (tmp_path / name).mkdir()
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"")
    (tmp_path / "7").write_bytes(b"")
    assert version_folder(tmp_path).name == "1"
    (tmp_path / "1" / "saved_model.pb").unlink()
    with pytest.raises(ValueError, match="Expected a SavedModel or numbered versions"):
        version_folder(tmp_path)


CARD = """# m, version 1

## What it does

Sees.

## Use and limits

### For what

<b>Research</b> alone.

## License

Not for sale.
"""


def test_the_terms_of_a_model_go_with_its_weights(tmp_path):
    version = tmp_path / "seen" / "3"
    version.mkdir(parents=True)
    (version / "README.md").write_text(CARD)
    (version / METADATA_FILE).parent.mkdir()
    (version / METADATA_FILE).write_text('{"terms": "no sale"}')
    origin = origin_of_version(version)
    assert origin["name"] == "seen, version 3" and set(origin) == {"name", *INHERITED}
    described = written(tmp_path / "mine", {**DESCRIPTION, "origin": origin})
    again = origin_of_run(described.folder, described.description)
    assert again["name"] == "mine (from seen, version 3)"
    inherited = "Of the weights that it started from, mine (from seen, version 3):"
    assert with_inherited(LICENSE, "Mine.", again) == f"Mine.\n\n{inherited}\n\nNot for sale."
    assert "&#60;b>Research" in with_inherited(LIMITS, "", again)
    assert again["terms"] == "no sale"
    card = model_card("new, version 1", {LICENSE: with_inherited(LICENSE, "Mine.", again)})
    folded = fold_inherited(card, again)
    heading = "Of the weights that it started from, mine (from seen, version 3)"
    assert f"Mine.\n\n<details>\n<summary>{heading}</summary>\n\nNot for sale." in folded
    (version / "README.md").write_text(folded)
    assert origin_of_version(version)[LICENSE] == f"Mine.\n\n{heading}:\n\nNot for sale."
    (version / "README.md").unlink()
    (version / METADATA_FILE).write_text("{}")
    assert origin_of_version(version) == {"name": "seen, version 3"}
    assert origin_of_run(tmp_path / "plain", DESCRIPTION) == {"name": "plain"}
    assert with_inherited(LICENSE, "Mine.", {"name": "plain"}) == "Mine."
    for bad in ("seen", {"License": "x"}, {"name": 3}):
        with pytest.raises(ValueError, match=r"origin in .* to be null or an object"):
            _ = written(tmp_path / "mine", {**DESCRIPTION, "origin": bad}).description


def test_a_run_says_that_it_answers_on_tensorflow_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match=r"KERAS_BACKEND=tensorflow .* Received: jax"):
        RunPredictor(Run(tmp_path))
