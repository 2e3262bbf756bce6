"""Wherever a training is killed, it ends as one that was not: every state of its files is tried."""

import json

import numpy as np
import pytest

from keras_attn.whole_file import is_scratch
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes.scenes import RECIPE
from keras_attn_pipelines.runs import train
from keras_attn_pipelines.runs.run import LOCK_FILE, Run
from tests.pipelines.file_events import FileEvents
from tests.pipelines.history import history

# Keras on TensorFlow reads variables for saving by a NumPy call that NumPy 2 deprecates.
pytestmark = [
    pytest.mark.systems,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]

TINY = {
    "image_size": 32,
    "vocabulary_size": 300,
    "lengths": (13, 60),
    "embedding_dim": 3,
    "hidden_dim": 7,
    "attention_dim": 5,
    "batch_size": 3,
    "dropout": 0.3,
    "learning_rate": 0.05,
    "warmup_steps": 0,
}
TRAININGS = {
    "the mean of epochs, early stopping, an encoder that thaws": {
        "epochs": 5,
        "average": 2,
        "patience": 1,
        "unfreeze_step": 4,
    },
    "self-critical": {"epochs": 2, "self_critical": 2, "monitor": "loss"},
}
IGNORED = ("tensorboard", LOCK_FILE)
SAMPLED = 2


def trained(values, data, run):
    """Trains in a folder, and returns what `ended_with` does."""
    recipe = RECIPE.replaced({**TINY, **values})
    options = {"cache": data.parent, "verbose": 0, "checkpoint_seconds": 0.0}
    train.train(recipe, data, run, "scenes", **options)
    return ended_with(run)


def ended_with(run):
    """Weights, history, the epoch that was kept and the names of files."""
    weights = Run(run).model().get_weights()
    rows = history(run)
    description = json.loads((run / "recipe.json").read_text())
    kept = {key: description["kept"][key] for key in ("monitor", "value", "epoch")}
    names = sorted(str(path.relative_to(run)) for path in run.rglob("*") if not is_scratch(path))
    return weights, rows, kept, [name for name in names if not name.startswith(IGNORED)]


FIRST, *OTHERS = TRAININGS.values()


@pytest.fixture(
    scope="module",
    params=[FIRST, *(pytest.param(values, marks=pytest.mark.slow) for values in OTHERS)],
    ids=TRAININGS,
)
def recorded(request, tmp_path_factory):
    """Values, data, file events of a training and what it ended with."""
    folder = tmp_path_factory.mktemp("recorded")
    data = write_scenes(folder / "data", train=8, dev=3, test=1, novel=1)
    (folder / "run").mkdir()
    events = FileEvents(folder / "run", folder / "states", IGNORED)
    with events.recorded():
        ended = trained(request.param, data, folder / "run")
    return request.param, data, events, ended


def check_states(recorded, numbers):
    values, data, events, (weights, rows, kept, names) = recorded
    for number in numbers:
        events.restore(number)
        told = f"killed {events.events[number]}"
        try:
            again = trained(values, data, events.folder)
        except ValueError as error:
            assert "whose training has ended" in str(error), told
            again = ended_with(events.folder)
        for expected, weight in zip(weights, again[0], strict=True):
            np.testing.assert_allclose(weight, expected, atol=1e-5, err_msg=told)
        for expected, row in zip(rows, again[1], strict=True):
            assert row == pytest.approx(expected, abs=1e-5), told
        assert again[2] == pytest.approx(kept, abs=1e-5), told
        assert again[3] == names, told


def test_a_sample_of_all_states(recorded):
    count = len(recorded[2].events)
    check_states(recorded, np.random.default_rng(7).choice(count, SAMPLED, replace=False))


@pytest.mark.slow
def test_every_state(recorded):
    check_states(recorded, range(len(recorded[2].events)))
