"""A tf.data service: its workers make the batches that training would make, in their order."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn_pipelines.cli import main
from keras_attn_pipelines.data.data_service import LATE, DataService, in_order
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.prepared import prepare
from keras_attn_pipelines.runs.train import train
from tests.recipes.registry import BY_NAME

pytestmark = pytest.mark.systems

IN_GRAPH = [
    "flickr8k_vit",
    "images_stn",
    "digits_stn",
    "translator_transformer",
    "text_classifier",
    "babi_memory_network",
    "progressive_memory",
    "webnlg_graph",
    "parser_transformer",
]


@pytest.mark.parametrize("name", IN_GRAPH)
def test_a_batch_in_the_graph_is_that_of_training(name, tmp_path):
    row = BY_NAME[name]
    data = prepare(load_recipe(name).replaced(row.values), row.data(tmp_path)).data
    start, count = data.steps - 1, 3  # Into the next epoch.
    steps = tf.data.Dataset.range(start, start + count)
    batches = list(zip(steps.map(data.batch), data.training(start).take(count), strict=True))
    assert batches
    for one, other in batches:
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(
    ("name", "values"), [("ntm_copy", {}), ("translator_transformer", {"bpe_dropout": 0.1})]
)
def test_batches_made_in_python_are_refused(name, values, tmp_path):
    row = BY_NAME[name]
    data = prepare(load_recipe(name).replaced({**row.values, **values}), row.data(tmp_path)).data
    with pytest.raises(ValueError, match="Expected batches that TensorFlow's graph makes alone"):
        DataService("localhost:1").check(data)


class Arrivals:
    """Steps as they arrive; None is a silence."""

    def __init__(self, steps):
        self.steps, self.closed, self.patience = list(steps), False, []

    def next(self, seconds):
        """See `in_order`."""
        self.patience.append(seconds)
        step = self.steps.pop(0) if self.steps else None
        return None if step is None else (step, f"served {step}")

    def close(self):
        """See `in_order`."""
        self.closed = True


def taken(arrivals, start, count):
    """The first batches in order."""
    batches = in_order(arrivals, start, lambda step: f"made {int(step)}", patience=3.0)
    found = [next(batches) for _ in range(count)]
    batches.close()
    assert arrivals.closed
    return found


def test_steps_are_put_in_order():
    arrivals = Arrivals([7, 5, 8, 6, 10, 9])
    assert taken(arrivals, 5, 6) == [f"served {step}" for step in range(5, 11)]
    assert set(arrivals.patience) == {3.0}


def test_a_lost_step_is_made_here():
    arrivals = Arrivals([5, *range(7, 7 + LATE), 6])
    found = taken(arrivals, 5, 2 + LATE)
    assert found[:3] == ["served 5", "made 6", "served 7"]
    assert found[3:] == [f"served {step}" for step in range(8, 7 + LATE)]


def test_without_workers_batches_are_made_here_until_one_answers(capsys):
    arrivals = Arrivals([None, None, 1, 3, 4])
    assert taken(arrivals, 0, 5) == ["made 0", "made 1", "made 2", "served 3", "served 4"]
    assert arrivals.patience[:3] == [3.0, 0.0, 0.0]
    assert "data service: nothing in 3 s" in capsys.readouterr().out


class Process:
    """A command of keras-attn in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "keras_attn_pipelines", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def said(self, start):
        """What its first line says after its start."""
        line = self.process.stdout.readline().strip()
        assert line.startswith(start), line
        return line.removeprefix(start)

    def end(self, how=signal.SIGTERM):
        """Ends the process."""
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def service():
    """The address of a dispatcher with two workers, and these."""
    processes = [Process("data-service", "dispatcher")]
    address = processes[0].said("dispatcher: ")
    workers = [Process("data-service", "worker", "--dispatcher", address) for _ in range(2)]
    processes += workers
    for worker in workers:
        assert worker.said("worker of ") == address
    yield address, workers
    for process in reversed(processes):
        process.end()


def test_training_is_the_same_with_workers_of_which_one_is_lost(service, tmp_path):
    address, workers = service
    row = BY_NAME["translator_transformer"]
    experiment = load_recipe(row.name).replaced({**row.values, "epochs": 3})
    data = row.data(tmp_path)
    alone = train(experiment, data, tmp_path / "alone", row.name, verbose=0)

    class Served(DataService):
        """Loses a worker as soon as the training begins."""

        def training(self, data, start):
            batches = super().training(data, start)
            list(batches.take(2))
            workers[0].end(signal.SIGKILL)
            return batches

    served = train(
        experiment,
        data,
        tmp_path / "served",
        row.name,
        verbose=0,
        service=Served(address, patience=2.0),
    )
    histories = [(run.folder / "history.csv").read_text() for run in (alone, served)]
    assert histories[0] == histories[1]


def test_bad_addresses_are_refused(tmp_path, capsys):
    (tmp_path / "train.en").write_text("a\n")
    command = ["train", "translator_transformer", "--data", str(tmp_path), "--out", "x"]
    cases = {
        "Expected a data service as HOST:PORT": [*command, "--data-service", "nowhere"],
        "Expected a dispatcher at localhost:1 ": [*command, "--data-service", "localhost:1"],
        "Expected --dispatcher for a worker": ["data-service", "worker"],
        "Expected --port between": ["data-service", "dispatcher", "--port", "65536"],
    }
    for message, arguments in cases.items():
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
