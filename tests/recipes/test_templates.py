"""What `keras-attn new` writes runs as it is."""

import re

import numpy as np
import pytest

from keras_attn.saved.loading import load
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.templates import KINDS

pytestmark = pytest.mark.systems

WORDS = {"sport": ["goal", "team", "ball"], "food": ["soup", "bread", "salt"]}
FLAGS = ["--epochs", "2", "--learning-rate", "0.03", "--warmup-steps", "3", "--batch-size", "5"]
LINE = {"tagging": "{words}\t{tags}", "regression": "{rating}\t{words}"}
LINE["classification"] = "{label}\t{words}"
METRIC = {"tagging": "accuracy", "regression": "mean absolute error", "classification": "accuracy"}
ANSWER = {"tagging": "food sport food", "regression": r"-?\d+\.\d\d", "classification": "food"}
UNIT = {"tagging": "nats", "regression": "points", "classification": "nats"}
MONITOR = {"tagging": "val_accuracy", "regression": "val_mean_absolute_error"}
MONITOR["classification"] = "val_accuracy"


def line(kind, random):
    """A line of three words of two topics."""
    tags = [sorted(WORDS)[random.integers(2)] for _ in range(3)]
    words = " ".join(random.choice(WORDS[tag]) for tag in tags)
    label, rating = max(tags, key=tags.count), tags.count("sport") - 1.5
    return LINE[kind].format(words=words, tags=" ".join(tags), label=label, rating=rating)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def data(kind, tmp_path):
    folder, random = tmp_path / "data", np.random.default_rng(3)
    folder.mkdir()
    for name, count in (("train", 61), ("dev", 11), ("test", 13)):
        lines = [line(kind, random) for _ in range(count)]
        (folder / f"{name}.tsv").write_text("\n".join(lines), "utf-8")
    return folder


def test_a_template_goes_through_every_command(kind, data, tmp_path, capsys):
    recipe, run, model = (str(tmp_path / name) for name in ("my_own.py", "run", "model"))
    assert main(["new", recipe, "--like", kind]) == 0
    usage = capsys.readouterr().out
    assert "keras-attn train my_own.py --data" in (tmp_path / "my_own.py").read_text("utf-8")
    assert f"keras-attn train {recipe} --data" in usage
    flags = [*FLAGS, "--monitor", MONITOR[kind]]
    assert main(["train", recipe, "--data", str(data), "--out", run, *flags]) == 0
    assert main(["evaluate", run, "--data", str(data), "--split", "test"]) == 0
    assert f"| {METRIC[kind]} |" in capsys.readouterr().out
    assert main(["export", run, model]) == 0
    capsys.readouterr()
    assert main(["predict", model, "salt goal bread"]) == 0
    asked, _, answer = capsys.readouterr().out.rstrip("\n").split("\t")
    assert asked == "salt goal bread" and re.fullmatch(ANSWER[kind], answer)
    assert main(["explain", model, "salt goal bread", "--out", f"{tmp_path}/words.png"]) == 0
    assert load(model).unit == UNIT[kind]
    assert Run(run).description["kept"]["monitor"] == MONITOR[kind]
