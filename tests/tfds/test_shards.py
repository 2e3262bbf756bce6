"""Shards through the real tensorflow-datasets: what is trained on is what the files have."""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.fingerprint import fingerprint
from keras_attn_pipelines.data.picture_folder import CaptionedPicture
from keras_attn_pipelines.data.shards.shard_writer import FORMS, ShardOptions, write_shards
from keras_attn_pipelines.data.shards.shards import shards_in
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.evaluate import evaluate
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.shards import prepare_shards
from keras_attn_pipelines.runs.train import train
from tests.pipelines.picture_folder import pictures
from tests.pipelines.test_bystanders import check_command
from tests.recipes.registry import BY_NAME

pytestmark = pytest.mark.tfds

FROM_FILES = [
    "scenes",
    "vit_classifier",
    "translator_transformer",
    "text_classifier",
    "babi_memory_network",
    "progressive_memory",
    "webnlg_graph",
    "parser_transformer",
]
FOUR = 4


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A function from the name of a recipe to its experiment, its data and its shards."""
    written = {}

    def make(name):
        if name not in written:
            row, folder = BY_NAME[name], tmp_path_factory.mktemp(name)
            experiment, data = load_recipe(name).replaced(row.values), row.data(folder)
            prepare_shards(experiment, data, folder / "shards")
            written[name] = experiment, data, folder / "shards"
        return written[name]

    return make


@pytest.mark.parametrize("name", FROM_FILES)
def test_batches_from_shards_are_those_from_files(name, prepared):
    experiment, data, shards = prepared(name)
    whole, stored = prepare(experiment, data), prepare(experiment, shards)
    assert len(stored.records.splits["train"]) == len(whole.records.splits["train"])
    assert stored.vocabulary_sizes == whole.vocabulary_sizes
    assert stored.data.steps == whole.data.steps
    for first, second in (
        (whole.data.training(3).take(FOUR), stored.data.training(3).take(FOUR)),
        (whole.data.dev, stored.data.dev),
    ):
        batches = list(zip(first, second, strict=True))
        assert batches
        for one, other in batches:
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("name", ["vit_classifier", "translator_transformer"])
def test_a_run_from_shards_is_the_run_from_files(name, prepared, tmp_path):
    experiment, data, shards = prepared(name)
    runs = [
        train(experiment, path, tmp_path / key, name, verbose=0)
        for key, path in (("files", data), ("shards", shards))
    ]
    histories = [(run.folder / "history.csv").read_text() for run in runs]
    assert histories[0] == histories[1]
    tables = [
        evaluate(run, path, "test", beam_width=None).table()
        for run, path in zip(runs, (data, shards))
    ]
    assert tables[0].replace(str(data), str(shards)) == tables[1]


def test_a_killed_run_resumes_from_shards(prepared, tmp_path):
    experiment, _, shards = prepared("translator_transformer")
    whole = train(experiment, shards, tmp_path / "whole", "translator_transformer", verbose=0)
    code = (
        "import os, signal, keras\n"
        "from keras_attn_pipelines.runs import fitting\n"
        "from keras_attn_pipelines.runs.train import train\n"
        "from keras_attn_pipelines.recipes import load_recipe\n"
        "from tests.recipes.registry import BY_NAME\n"
        "row = BY_NAME['translator_transformer']\n"
        "experiment = load_recipe(row.name).replaced(row.values)\n"
        "class Killed(fitting.Checkpoint):\n"
        "    def on_train_batch_end(self, batch, logs=None):\n"
        "        super().on_train_batch_end(batch, logs)\n"
        "        if batch == 1 and os.path.exists(self.path):\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "fitting.Checkpoint = Killed\n"
        f"train(experiment, {str(shards)!r}, {str(tmp_path / 'killed')!r}, row.name,\n"
        "    verbose=0, checkpoint_seconds=0.0)\n"
    )
    pid = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", code])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    killed = train(experiment, shards, tmp_path / "killed", "translator_transformer", verbose=0)
    for one, other in zip(Run(whole.folder).model().weights, killed.model().weights, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("runner", [None, "DirectRunner"])
def test_pictures_keep_their_bytes_and_their_order(form, runner, tmp_path, tfds):
    folder = pictures(tmp_path / "own", [f"{place}.png" for place in range(11)])
    splits = {
        "train": [
            CaptionedPicture(
                f"{place}", folder / f"{place}.png", ("one", f"two \udce9 {place}"), "d"
            )
            for place in range(9)
        ],
        "dev": [
            CaptionedPicture(f"{place}", folder / f"{place}.png", ("é 猫",), "d")
            for place in range(9, 11)
        ],
    }
    out = tmp_path / "shards"
    out.mkdir()
    options = ShardOptions(form, 2, runner, ["--direct_num_workers=1"] if runner else ())
    digests = {"digests": dict.fromkeys(splits, "x")}
    write_shards(splits, CaptionedPicture, out, "cats", digests, options)
    shards = shards_in(out)
    assert shards.lengths == {"train": 9, "dev": 2}
    for name, records in splits.items():
        stored = shards.split(name, CaptionedPicture)
        assert [record.captions for record in stored] == [record.captions for record in records]
        contents = [record.path.read_bytes() for record in stored]
        assert contents == [record.path.read_bytes() for record in records]
        assert stored[-1].name == records[-1].name
        with pytest.raises(IndexError):
            stored[len(records)]
    source = tfds.data_source if form == "array_record" else tfds.load
    loaded = source("cats", data_dir=str(out), split="train")
    examples = list(loaded) if form == "array_record" else list(tfds.as_numpy(loaded))
    assert [int(example["image"][0, 0, 0]) for example in examples] == [
        23 * place for place in range(9)
    ]
    assert examples[3]["captions"][0] == b"one"


def test_pictures_in_tfrecords_are_those_of_the_files(prepared, tmp_path):
    experiment, data, _ = prepared("vit_classifier")
    prepare_shards(experiment, data, tmp_path / "tfrecords", options=ShardOptions("tfrecord"))
    stored = prepare(experiment, tmp_path / "tfrecords").data.training(1).take(FOUR)
    expected = prepare(experiment, data).data.training(1).take(FOUR)
    for one, other in zip(stored, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_shards_are_prepared_and_read_from_the_command_line(prepared, tmp_path, capsys):
    _, data, _ = prepared("translator_transformer")
    out = tmp_path / "shards"
    columns = ["--source-column", "en", "--target-column", "de"]
    command = ["prepare", "translator_transformer", "--data", str(data), *columns]
    arguments = ["--out", str(out), "--format", "tfrecord", "--shards", "3"]
    assert main([*command, *arguments]) == 0
    output = capsys.readouterr().out
    assert f"written: {out} (" in output and "Downloading" not in output
    shards = shards_in(out)
    assert sorted(path.name for path in shards.folder.glob("*-train.*"))[-1].endswith(
        "00002-of-00003"
    )
    bad = {
        "Expected a new or empty folder": [*command, "--out", str(out)],
        "Expected a format of array_record, tfrecord": [*command, "--out", "x", "--format", "csv"],
        "Expected shards >= 1": [*command, "--out", "x", "--shards", "0"],
        "Expected at most": [*command, "--out", "x", "--shards", "1000"],
        "Expected a Beam runner": [*command, "--out", "x", "--beam-option=--a"],
        "Received: source_column='de'": [
            "train",
            "translator_transformer",
            *("--data", str(out), "--out", "x", "--source-column", "de"),
        ],
        "Expected trees": ["train", "parser_transformer", "--data", str(out), "--out", "x"],
        "with a method record_type": ["prepare", "ntm_copy", "--data", str(data), "--out", "x"],
    }
    for message, arguments in bad.items():
        place = {"x": str(tmp_path / "x")}
        assert main([place.get(argument, argument) for argument in arguments]) == 2
        assert message in capsys.readouterr().err
        assert not list(tmp_path.glob(".keras-attn-*")) and not (tmp_path / "x").exists()


def test_damaged_shards_are_refused(prepared, tmp_path, capsys):
    experiment, data, _ = prepared("translator_transformer")
    out = tmp_path / "shards"
    prepare_shards(experiment, data, out, options=ShardOptions("tfrecord"))
    shards = shards_in(out)
    with pytest.raises(ValueError, match="Expected a split of train, dev"):
        shards.split("val", experiment.source.record_type())
    file = next(shards.folder.glob("*-train.*"))
    content = file.read_bytes()
    file.write_bytes(content[:-3])
    with pytest.raises(ValueError, match=r"Expected whole TFRecords in .*-train"):
        prepare(experiment, out)
    metadata = shards.folder / "metadata.json"
    value = json.loads(metadata.read_text())
    value["keras_attn_records"] = value["keras_attn_records"].replace('"text"', '"texts"', 1)
    metadata.write_text(json.dumps(value))
    with pytest.raises(ValueError, match="prepare them again"):
        prepare(experiment, out)
    assert Path(out).is_dir()


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    return data[:300] + bytes([data[300] ^ 255]) + data[301:]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["translator_transformer", "vit_classifier"])
def test_a_training_names_the_file_that_is_damaged(name, form, prepared, tmp_path):
    """Pictures are read only while the model is fitted."""
    experiment, data, _ = prepared(name)
    out = tmp_path / "shards"
    prepare_shards(experiment, data, out, options=ShardOptions(form))
    for file in out.rglob("*"):
        if "-train." not in file.name and file.suffix != ".json":
            continue
        whole, index = file.read_bytes(), "_index/" in str(file)
        for damage in (cut, flipped):
            file.write_bytes(damage(whole))
            os.utime(file.with_name("dataset_info.json"))  # Files are opened again.
            if index and file.name == "metadata.json":
                continue  # Nothing in it is needed.
            named = str(file.parent if file.suffix == ".json" else file)
            with pytest.raises(ValueError, match=re.escape(named)):
                train(experiment, out, tmp_path / "run", name, verbose=0)
            shutil.rmtree(tmp_path / "run", ignore_errors=True)
        file.write_bytes(whole)


@pytest.mark.parametrize("form", FORMS)
def test_other_bytes_in_shards_are_noticed(form, prepared, tmp_path):
    """Shards of as many other records, with the metadata of the first, as by an exchanged file."""
    experiment, data, _ = prepared("translator_transformer")
    out, other = tmp_path / "shards", shutil.copytree(data, tmp_path / "other")
    pairs = (other / "train.en").read_text().splitlines()
    (other / "train.en").write_text("".join(f"{line}\n" for line in [pairs[1], *pairs[1:]]))
    prepare_shards(experiment, data, out, options=ShardOptions(form))
    prepare_shards(experiment, other, tmp_path / "others", options=ShardOptions(form))
    splits = prepare(experiment, out).data.splits
    before = fingerprint(splits), fingerprint(splits, "recorded")
    (file,) = shards_in(out).folder.glob("*-train.*")
    (exchanged,) = shards_in(tmp_path / "others").folder.glob("*-train.*")
    shutil.copyfile(exchanged, file)
    os.utime(shards_in(out).folder / "dataset_info.json")
    now = prepare(experiment, out).data.splits
    assert fingerprint(now, "recorded") == before[1] and fingerprint(now) != before[0]


def test_prepare_leaves_what_lies_beside_its_output(prepared, tmp_path):
    _, data, _ = prepared("translator_transformer")
    command = ["prepare", "translator_transformer", "--data", data, "--format", "tfrecord"]
    command += ["--source-column", "en", "--target-column", "de"]
    check_command(tmp_path, [*command, "--out", "OUT"], "shards", states=2)
