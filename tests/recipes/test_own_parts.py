"""Parts from outside the package: the files in the docs go through everything."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from keras_attn_pipelines.cli import main
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.train import train
from tests.pipelines.explored import explored
from tests.pipelines.logged_pictures import pictures_of
from tests.recipes.registry import RECURRENT, SIZES, language, scenes

pytestmark = pytest.mark.systems

DOCS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
WORDS = {"sport": ["goal", "team", "match", "ball"], "food": ["soup", "bread", "oven", "salt"]}
FILLERS = ["the", "a", "was", "and", "very"]


def code_of(page):
    """The Python blocks of a page."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """The file of the page about a task of one's own."""
    path = tmp_path_factory.mktemp("own") / "topics.py"
    assert main(["new", str(path), "--like", "classification"]) == 0
    return path


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A folder with lines of two topics, of which two words tell."""
    folder, random = tmp_path_factory.mktemp("lines"), np.random.default_rng(3)
    for name, count in (("train", 41), ("dev", 11), ("test", 13)):
        rows = []
        for _ in range(count):
            label = sorted(WORDS)[random.integers(2)]
            words = [*random.choice(WORDS[label], 2), *random.choice(FILLERS, 3)]
            rows.append(f"{label}\t{' '.join(random.permutation(words))}\n")
        (folder / f"{name}.tsv").write_text("".join(rows), "utf-8")
    return folder


FLAGS = ["--epochs", "7", "--monitor", "val_accuracy", "--learning-rate", "0.03"]
FLAGS += ["--warmup-steps", "3", "--batch-size", "5", "--patience", "7"]
VALUES = {"epochs": 3, "learning_rate": 0.03, "batch_size": 5}


def interrupted(path, data, run, step):
    """Return code and output of a training of a recipe file, killed at a step (0: not at all)."""
    command = [sys.executable, "-m", "tests.pipelines.interrupted", path, data, run, step, 0]
    command += [f"{run}.npz", "one", json.dumps(VALUES)]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.slow
def test_a_killed_training_of_ones_own_task_ends_as_another(topics, lines, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert interrupted(topics, lines, whole, 0)[0] == 0
    assert interrupted(topics, lines, killed, 13)[0] == -signal.SIGKILL
    code, printed = interrupted(topics, lines, killed, 0)
    assert code == 0 and "resuming at epoch 2, step 4 of 9" in printed, printed
    for expected, weights in zip(*(Run(run).model().get_weights() for run in (whole, killed))):
        np.testing.assert_allclose(weights, expected, atol=2e-5)


def test_ones_own_task_goes_through_every_command(topics, lines, tmp_path, capsys):
    run, model = tmp_path / "run", tmp_path / "topics"
    assert main(["train", str(topics), "--data", str(lines), "--out", str(run), *FLAGS]) == 0
    assert "lines: 41 train, 11 dev; words: 17 symbols, labels: 2 labels" in capsys.readouterr().out
    evaluation = ["--data", str(lines), "--split", "test"]
    assert main(["evaluate", str(run), *evaluation]) == 0
    table = capsys.readouterr().out
    assert "| accuracy |" in table and "13 lines of test" in table
    assert float(re.search(r"([\d.]+)%", table)[1]) > 90
    assert main(["export", str(run), str(model), "--data", str(lines)]) == 0
    assert "words pooled by additive attention" in (model / "README.md").read_text("utf-8")
    capsys.readouterr()
    assert main(["evaluate", str(model), *evaluation]) == 2
    assert "Expected the recipe file that defines TopicLines" in capsys.readouterr().err
    assert main(["evaluate", str(model), *evaluation, "--recipe", str(topics)]) == 0
    assert capsys.readouterr().out == table
    assert main(["predict", str(model), "the goal was very salt-free", "bread and soup"]) == 0
    printed = capsys.readouterr()
    answers = [line.split("\t") for line in printed.out.splitlines()]
    assert [answer[2] for answer in answers] == ["sport", "food"]
    note = "salt-free: one word is unknown"
    assert printed.err.count("unknown") == 1 and note in printed.err
    assert len(pictures_of(Run(run))) == 3 * 7
    page = explored(model, "bread and a soup", tmp_path)
    assert page["views"][0]["columns"][:2] == ["bread", "and"] and page["answers"][0][0] == "food"
    capsys.readouterr()
    out = tmp_path / "words.png"
    assert main(["explain", str(model), "bread and a soup", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("food\n")
    with Image.open(out) as picture:
        assert picture.format == "PNG" and picture.width > picture.height
    assert main(["explain", str(model), "soup", "--out", str(out), "--word", "soup"]) == 2
    assert "Expected neither heads nor a word" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("block", "data", "values"),
    [
        pytest.param(
            0,
            scenes,
            {**RECURRENT, "epochs": 1},
            id="another encoder",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            1,
            language,
            {**SIZES, "batch_tokens": 112},
            id="another optimizer",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            2,
            language,
            {**SIZES, "batch_tokens": 112},
            id="another schedule",
            marks=pytest.mark.slow,
        ),
        pytest.param(3, language, {"hidden_dim": 8, "batch_tokens": 112}, id="another model"),
    ],
)
def test_one_part_of_a_recipe_changes(block, data, values, tmp_path):
    """Ten lines; ImageNet's weights, which would be downloaded, are left out here."""
    blocks = code_of("changing_a_part.md")
    assert len(blocks) == 4
    code = blocks[block]
    lines = [line for line in code.splitlines() if line]
    assert sum(not line.startswith(("from", "import")) for line in lines) <= 11
    path = tmp_path / "mine.py"
    path.write_text(code.replace('weights="imagenet"', "weights=None"), "utf-8")
    columns = {"source_column": "en", "target_column": "de", "lengths": (7, 13, 23)}
    values = {"epochs": 1, "monitor": "val_loss", "vocabulary_size": 310, **values}
    values |= columns if data is language else {}
    run = train(
        load_recipe(str(path)).replaced(values),
        data(tmp_path),
        tmp_path / "run",
        str(path),
        verbose=0,
    )
    assert run.service(beam_width=1).signatures()
