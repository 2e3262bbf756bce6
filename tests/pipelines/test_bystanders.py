"""What lies beside an output survives every command that writes, wherever that is killed."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_attn.whole_file import is_scratch, mark, mark_of
from keras_attn_pipelines.cli import main
from tests.pipelines.file_events import FileEvents
from tests.recipes.registry import BY_NAME
from tests.recipes.shared import flags

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SAMPLED = 2
NOTES = b"mine"


def add_bystanders(folder, outside, out):
    """Puts into a folder files, folders and links with the names that temporary ones have."""
    folder.mkdir(parents=True)
    linked = outside / ".keras-attn-linked00"
    linked.mkdir(parents=True, exist_ok=True)
    mark(linked)
    (outside / "notes").write_bytes(NOTES)
    files = ("partial-{}", "new-{}", "{}.partial", "{}.tmp", ".{}.swp", "{}~")
    names = [name.format(out) for name in files] + [".keras-attn-abcd1234", "checkpoint.npz"]
    for name in names:
        (folder / name).write_bytes(NOTES)
    folders = ("partial-abcd1234", "partial-results", ".keras-attn-efgh5678", f".new-{out}")
    for name in (*folders, "mean-snapshots", ".keras-attn-renamed0", ".keras-attn-notempty"):
        (folder / name).mkdir()
        (folder / name / "000000001.npz").write_bytes(NOTES)
    mark(folder / ".keras-attn-renamed0")
    (folder / ".keras-attn-renamed0").rename(folder / ".keras-attn-renamed1")
    mark_of(folder / ".keras-attn-notempty").write_bytes(NOTES)
    (folder / linked.name).symlink_to(linked)
    (folder / "partial-link").symlink_to(outside / "notes")
    (folder / f"partial-{out}.link").symlink_to(outside / "nothing")


def kept(folder, *outputs):
    """All but outputs in a folder, by path: bytes, where a link leads, or None for folders."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
        if path.relative_to(folder).parts[0] not in outputs
    }


def check_command(folder, command, out, states=None, inside=None):
    """Runs a command that writes to `out` beside bystanders; again from what a kill leaves.

    Args:
        folder: to work in.
        command: arguments; "OUT" stands for the path of the output.
        out: name of the output.
        states: number of states that are tried, drawn with a fixed seed; None: all.
        inside: function that prepares the output's place, or None.
    """
    place, outside = folder / "place", folder / "outside"
    add_bystanders(place, outside, out)
    if inside:
        inside(place / out)
    expected = kept(place, out), kept(outside)
    command = [str(place / out) if part == "OUT" else str(part) for part in command]
    events = FileEvents(place, folder / "states")
    with events.recorded():
        assert main(command) == 0
    assert (kept(place, out), kept(outside)) == expected
    written = kept(place / out)
    numbers = np.random.default_rng(7).permutation(len(events.events))[:states]
    for number in numbers:
        events.restore(number)
        code = main(command)
        told = f"killed {events.events[number]}"
        assert code == 0 or (place / out).is_dir(), told  # Done before it was killed.
        beside = {
            path: data
            for path, data in kept(place, out).items()
            if path in expected[0] or not _may_stay(place / Path(path).parts[0], code)
        }
        assert (beside, kept(outside)) == expected, told
        assert {*kept(place / out)} >= {name for name in written if "tfevents" not in name}, told


def _may_stay(path, code):
    """Whether a kill came after a folder was made and before it was marked; any temporary folder
    where the second command has nothing to write."""
    return is_scratch(path) if code else path.is_dir() and not any(path.iterdir())


@pytest.fixture
def sentences(tmp_path):
    """Files of sentence pairs."""
    for side, lines in (("s", "a b\nb c\nc a\n"), ("t", "A B\nB C\nC A\n")):
        (tmp_path / side).write_text(lines * 3)
    return tmp_path / "s", tmp_path / "t"


@pytest.mark.parametrize(("flag", "out"), [("--out", "links.txt"), ("--save", "aligner")])
def test_align(flag, out, sentences, tmp_path, capsys):
    check_command(tmp_path, ["align", *sentences, "--model", "model1", flag, "OUT"], out)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Data, flags of a tiny training, two runs and a SavedModel."""
    row, folder = BY_NAME["digits_stn"], tmp_path_factory.mktemp("digits")
    data = row.data(folder)
    command = ["train", row.name, "--data", data, *flags({**row.values, "average": 2})]
    for run in ("run", "other"):
        assert main([*map(str, command), "--out", str(folder / run)]) == 0
    assert main(["export", str(folder / "run"), str(folder / "model"), "--no-evaluate"]) == 0
    return folder, data, command


@pytest.mark.systems
def test_train(digits, tmp_path):
    _, _, command = digits
    check_command(tmp_path, [*command, "--out", "OUT"], "run", SAMPLED)


@pytest.mark.systems
def test_average_evaluate_and_export(digits, tmp_path):
    folder, data, _ = digits
    runs = [folder / "run", folder / "other"]
    check_command(tmp_path / "a", ["average", *runs, "--out", "OUT"], "mean", SAMPLED)
    evaluate = ["evaluate", runs[0], "--data", data, "--json", "OUT"]
    check_command(tmp_path / "b", evaluate, "scores.json", SAMPLED)

    def versions(path):
        shutil.copytree(folder / "model", path)
        (path / "partial-abcd1234").mkdir()
        (path / "partial-abcd1234" / "notes").write_bytes(NOTES)
        (path / ".keras-attn-abcd1234").write_bytes(NOTES)

    check_command(
        tmp_path / "c", ["export", runs[0], "OUT", "--no-evaluate"], "model", SAMPLED, versions
    )
    assert (tmp_path / "c/place/model/partial-abcd1234/notes").read_bytes() == NOTES
    assert (tmp_path / "c/place/model/.keras-attn-abcd1234").read_bytes() == NOTES


@pytest.mark.systems
def test_explain_and_crops(digits, tmp_path):
    folder, _, _ = digits
    picture = tmp_path / "digit.png"
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.arange(28 * 28, dtype="uint8").reshape(28, 28)).save(picture)
    explain = ["explain", folder / "model", picture, "--out", "OUT"]
    check_command(tmp_path / "a", explain, "seen.png", SAMPLED)
    crops = ["predict", folder / "model", picture, "--crops", "OUT"]
    check_command(tmp_path / "b", crops, "crops", SAMPLED)


@pytest.mark.systems
def test_a_run_with_files_of_the_user(digits, tmp_path):
    """Files that were put into a run directory survive its resumption and its end."""
    _, _, command = digits
    events = FileEvents(tmp_path / "run", tmp_path / "states", ("tensorboard",))
    (tmp_path / "run").mkdir()
    with events.recorded():
        assert main([*map(str, command), "--average", "1", "--out", str(events.folder)]) == 0
    middle = next(n for n, event in enumerate(events.events) if "history.csv" in event)
    events.restore(middle)
    add_bystanders(tmp_path / "mine", tmp_path / "outside", "model.keras")
    (tmp_path / "mine" / "checkpoint.npz").unlink()  # That is the run's.
    expected = kept(tmp_path / "mine"), kept(tmp_path / "outside")
    shutil.copytree(tmp_path / "mine", events.folder, symlinks=True, dirs_exist_ok=True)
    assert main([*map(str, command), "--average", "1", "--out", str(events.folder)]) == 0
    now = {path: data for path, data in kept(events.folder).items() if path in expected[0]}
    assert (now, kept(tmp_path / "outside")) == expected
