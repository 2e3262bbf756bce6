"""The whole path of a question answerer by the command line, on two made-up tasks."""

import json

import numpy as np
import pytest
from PIL import Image

from keras_attn.serving.declared import read_metadata
from keras_attn.training import LinearStart
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.tasks.question_answering import BabiTasks
from tests.pipelines.explored import explored
from tests.pipelines.logged_pictures import pictures_of
from tests.pipelines.saved_evaluation import check_saved_evaluation
from tests.pipelines.toy_stories import write_tasks

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

CHOICES = "--lengths 3 7 --embedding-dim 7 --epochs 9 --batch-size 5 --learning-rate 0.5"
ASKED = "Mary went to the garden. John went to the park. Where is Mary?"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_tasks(tmp_path_factory.mktemp("data") / "tasks", train=60)


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    command = ["train", "babi-memory-network", "--data", str(data), "--out", str(out)]
    assert main([*command, *CHOICES.split()]) == 0
    return Run(out)


@pytest.fixture(scope="module")
def model(run, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved_models") / "tasks"
    command = ["export", str(run.folder), str(folder), "--data", str(data), "--n-best", "2"]
    assert main(command) == 0
    return folder


def test_hops_are_drawn_after_each_epoch(run):
    assert len(pictures_of(run)) == 9 * 3


def test_evaluate_shows_each_task_beside_the_paper(run, model, data, tmp_path, capsys):
    out = tmp_path / "scores.json"
    command = ["evaluate", str(run.folder), "--data", str(data), "--split", "test"]
    assert main([*command, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "| mean error | failed tasks (error > 5%) | accuracy |" in printed
    scores = json.loads(out.read_text())
    first, second = (scores["errors"][task] for task in ("1", "8"))
    assert f"| 1 | {100 * first:.1f} | 0.0 |\n| 8 | {100 * second:.1f} | 9.3 |" in printed
    assert scores["scores"]["mean_error"] == pytest.approx((first + second) / 2)
    assert scores["scores"]["failed_tasks"] == (first > 0.05) + (second > 0.05)
    assert len(scores["answers"]) == 14
    long = [max(len(record.story) - 7, 0) for record in BabiTasks().split(data, "test")]
    assert scores["dropped"] == sum(long) > 0
    counts = sum(count > 0 for count in long), sum(long)
    assert "of {} long stories the oldest sentences were dropped, {} in".format(*counts) in printed
    check_saved_evaluation(run, model, data, tmp_path, capsys)


def test_it_learns(run):
    losses = [row.split(",") for row in (run.folder / "history.csv").read_text().splitlines()]
    place = losses[0].index("loss")
    assert float(losses[-1][place]) < 0.8 * float(losses[1][place])


def test_the_card_and_the_metadata(model):
    card = (model / "1" / "README.md").read_text()
    assert "an end-to-end memory network, 3 hops, 7 memories of width 7, adjacent tying" in card
    assert "mean error" in card
    metadata = read_metadata(model / "1")
    assert (metadata["n_best"], metadata["memory_size"]) == (2, 7)


def test_predict(model, capsys):
    assert main(["predict", str(model), ASKED]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].startswith(f"{ASKED}\t1\t0.")
    assert lines[1].startswith("\t2\t0.")
    long = "Mary went to the garden. " * 9 + "Where is Mary?"
    assert main(["predict", str(model), long, "--json"]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["dropped"] == 2 and len(answer["labels"]) == 2
    assert "the oldest 2 sentences were not read" in printed.err
    assert main(["predict", str(model), "Where is Mary?", ASKED.replace("Mary", "Zoe")]) == 2
    errors = capsys.readouterr().err
    assert "an empty story" in errors and "an unknown word: zoe" in errors


def test_explain_draws_the_hops(model, tmp_path, capsys):
    assert main(["explain", str(model), ASKED, "--out", str(tmp_path / "hops.png")]) == 0
    with Image.open(tmp_path / "hops.png") as picture:
        assert picture.size[0] > 100
    (view,) = explored(model, ASKED, tmp_path)["views"]
    assert view["rows"][0] == "hop 1" and len(view["columns"]) == ASKED.count(".")
    sums = np.array(view["sums"])  # The rest of the weight is with the memory's empty places.
    assert np.all((sums > 0.1) & (sums < 1.001))
    long = "Mary went to the garden. " * 8 + "Where is Mary?"
    (note,) = explored(model, long, tmp_path)["notes"]
    assert note.startswith("the oldest sentence was not read")
    assert main(["explain", str(model), long, "--out", str(tmp_path / "hops.svg")]) == 0
    assert f"({note})" in capsys.readouterr().out
    assert main(["explain", str(model), "Zoe left. Why?", "--out", str(tmp_path / "a.png")]) == 2
    command = ["explain", str(model), ASKED, "--out", str(tmp_path / "a.png"), "--heads", "all"]
    assert main(command) == 2
    assert "Expected neither heads nor a word" in capsys.readouterr().err


def test_score(model, capsys):
    assert main(["score", str(model), "--story", ASKED, "--label", "garden"]) == 0
    assert float(capsys.readouterr().out.split("\t")[1]) < 0
    assert main(["score", str(model), "--source", "a", "--target", "b"]) == 2
    assert "Expected --story and --label" in capsys.readouterr().err


def test_the_linear_start_ends_when_the_loss_stops_falling(run):
    model = run.model()
    model.memory.linear.assign(1.0)
    model.lowest_loss.assign(3e38)
    model.epochs_waited.assign(0.0)
    callback = LinearStart(model, patience=2)
    losses = {2.0: 1, 1.5: 1, 1.9: 1, 1.0: 1, 1.2: 1, 1.1: 0, 0.5: 0}
    for epoch, (loss, linear) in enumerate(losses.items()):
        LinearStart(model, patience=2).on_epoch_end(epoch, {"val_loss": loss})
        assert float(model.memory.linear) == linear
    assert float(model.lowest_loss) == 1.0
    model.memory.linear.assign(1.0)
    fixed = LinearStart(model, epochs=3)
    for epoch, linear in enumerate((1, 1, 0, 0)):
        fixed.on_epoch_end(epoch, {"val_loss": 2.0 + epoch})
        assert float(model.memory.linear) == linear
    model.memory.linear.assign(1.0)
    with pytest.raises(ValueError, match="Expected a val_loss in the logs"):
        callback.on_epoch_end(0, {"loss": 1.0})
    with pytest.raises(ValueError, match="Expected a QuestionAnswerer whose memory has a linear"):
        LinearStart(None)
    with pytest.raises(ValueError, match="Expected patience >= 1"):
        LinearStart(model, 0)
    with pytest.raises(ValueError, match="Expected epochs >= 1, or None"):
        LinearStart(model, epochs=0)
