"""Damaged runs, locks and files: named, and nothing of them is lost."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from keras_attn.training.resume import Checkpoint
from keras_attn.whole_file import locked, settle_file
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.columns import PAIRS, Columns
from keras_attn_pipelines.data.readers.csv_reader import read_csv
from keras_attn_pipelines.data.readers.json_reader import read_jsonl
from keras_attn_pipelines.data.record import unusable
from keras_attn_pipelines.data.text_lines import input_bytes
from keras_attn_pipelines.runs.origin import joined_origin
from keras_attn_pipelines.runs.run import LOCK_FILE, Run
from tests.pipelines import toy_language
from tests.recipes.shared import flags


def command(data, out, **values):
    choices = {**toy_language.TINY, "epochs": 2, "batch_tokens": 112, **values}
    named = ["train", "translator_transformer", "--data", str(data), "--out", str(out)]
    return [*named, *flags(choices)]


def test_a_refused_training_leaves_the_lock_of_the_other(tmp_path):
    run = Run(tmp_path / "run")
    with run.locked():
        for _ in range(2):
            with pytest.raises(ValueError, match="no other process trains into"), run.locked():
                pass
        assert (run.folder / LOCK_FILE).exists()
    assert not run.folder.exists()


def test_a_lock_whose_file_was_removed_is_none(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    waits = (
        f"import fcntl, os; f = os.open({str(path)!r}, os.O_RDWR); fcntl.flock(f, 2); print('got')"
    )
    with locked(path):
        process = subprocess.Popen([sys.executable, "-c", waits], stdout=subprocess.PIPE)
        time.sleep(0.3)
        path.unlink()
        path.touch()
    assert process.communicate()[0] == b"got\n"
    with locked(path, wait=False) as has_locks:
        assert has_locks


def test_the_good_new_file_is_not_removed_before_the_old_one_is_found(tmp_path):
    new = tmp_path / "new-model.keras"
    new.write_bytes(b"good")
    with pytest.raises(ValueError, match="Expected the file that was kept"):
        settle_file(tmp_path / "model.keras", "no such digest")
    assert new.read_bytes() == b"good"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Data, and a run that has a checkpoint, a history and a model."""
    data = toy_language.write_folder(tmp_path_factory.mktemp("data") / "toy")
    out = tmp_path_factory.mktemp("runs") / "run"
    saved = Checkpoint.save

    def stopping(self, model, within=False):
        saved(self, model, within)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", stopping)
        assert main(command(data, out)) == 130
    return data, out


@pytest.mark.systems
def test_a_missing_checkpoint_is_an_error_and_nothing_is_lost(stopped, capsys):
    data, out = stopped
    saved = (out / "checkpoint.npz").read_bytes()
    history = (out / "history.csv").read_text()
    for make in (lambda path: None, lambda path: path.mkdir(), lambda path: path.symlink_to("/x")):
        (out / "checkpoint.npz").unlink()
        make(out / "checkpoint.npz")
        assert main(command(data, out)) == 2
        assert "Expected the checkpoint" in capsys.readouterr().err
        assert (out / "history.csv").read_text() == history
        if (out / "checkpoint.npz").is_dir():
            (out / "checkpoint.npz").rmdir()
        (out / "checkpoint.npz").unlink(missing_ok=True)
        (out / "checkpoint.npz").write_bytes(saved)


@pytest.mark.systems
@pytest.mark.parametrize(
    "state",
    [
        *(5, None, [], {"BestModel": 5}, {"BestModel": {}, "EpochLog": 5}, {"EpochLog": [5]}),
        {"BestModel": dict.fromkeys(["best", "best_epoch", "digest", "stopped"], "x")},
    ],
)
def test_odd_states_of_a_checkpoint_are_named(stopped, state, capsys):
    data, out = stopped
    path = out / "checkpoint.npz"
    saved = path.read_bytes()
    with np.load(path) as file:
        arrays = dict(file)
    if isinstance(state, dict):
        state = {**json.loads(arrays["state"].tobytes()), **state}
    arrays["state"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    np.savez(path, **arrays)
    try:
        assert main(command(data, out)) == 2
        assert str(path) in capsys.readouterr().err
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
        assert main(command(data, out)) == 2
        assert "a damaged file" in capsys.readouterr().err
    finally:
        path.write_bytes(saved)


def test_quotes_that_do_not_pair_up_end_soon(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("source,target\n" + 'a","z\n' * 20_000 + 'a"b\n')
    with pytest.raises(ValueError, match="quotes that do not pair up"):
        list(read_csv(path, Columns("source", "target")))


def test_a_key_that_is_no_text_is_named_in_text(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text('{"en": "x", "de": "y"}\n{"\\ud800": 1, "en": "x"}\n')
    records = list(read_jsonl(path, Columns("en", "de", PAIRS)))
    assert [record.reason for record in records] == ["", "no target; keys: \\ud800, en"]
    assert records[1].line == 2 and records[1].reason.encode()


@pytest.mark.parametrize("text", ["\u3164", "\u2800\ufe0f", "\u0301", "\U000e0100 \u115f"])
def test_texts_that_show_nothing_are_empty(text):
    assert unusable("source", text) == "empty source"


def test_standard_input_has_the_limit_of_files(monkeypatch):
    source, target = os.pipe()
    os.write(target, b"0123456789")
    os.close(target)
    with os.fdopen(source) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setenv("KERAS_ATTN_MAX_TEXT_BYTES", "9")
        with pytest.raises(ValueError, match="at most 9 bytes in standard input"):
            input_bytes()


def test_an_average_has_the_terms_of_all_its_runs():
    first = {"name": "a", "License": "Research."}
    other = {"name": "b", "Use and limits": "Dogs."}
    assert joined_origin([None, None]) is None
    assert joined_origin([first, None, first]) == first
    both = joined_origin([first, other])
    assert both["name"] == "a and b" and both["License"] == "Of a:\n\nResearch."
    assert both["Use and limits"] == "Of b:\n\nDogs."


@pytest.mark.systems
def test_a_part_that_is_none_is_named(stopped, tmp_path):
    _, out = stopped
    content = json.loads((out / "recipe.json").read_text())
    for name, value in (("search", 5), ("search", True), ("search", None)):
        content["parts"]["task"][name] = value
        (tmp_path / "recipe.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"Expected a part as search of seq2seq\.Seq2Seq"):
            Run(tmp_path).experiment()
