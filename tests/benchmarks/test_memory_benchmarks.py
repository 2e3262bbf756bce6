"""The benchmarks of memories run, on tiny sizes; no figure is looked at."""

import importlib.util

import pytest

from benchmarks import copying, memory_speed
from benchmarks.race import Options
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.train import train
from tests.benchmarks.test_benchmarks import cells


@pytest.mark.slow
def test_copying(tmp_path, capsys):
    sizes = {"bits": 1, "lengths": (2,), "held_out": 3, "hidden_dim": 3, "sequences": 10}
    recipe = load_recipe("ntm_copy").replaced({**sizes, "cell": "lstm", "epochs": 2})
    run = train(recipe, "generated:1", tmp_path / "run", "ntm_copy", verbose=0)
    out = ["--lengths", "2", "5", "--out", str(tmp_path / "bench")]
    capsys.readouterr()
    copying.main([f"LSTM={run.folder}", *out])
    ((name, parameters, *errors),) = cells(capsys.readouterr().out)
    assert (name, parameters) == ("LSTM", f"{run.model().count_params():,}")
    assert all(0 <= float(error.split()[0]) <= 5 for error in errors)
    assert "<svg" in (tmp_path / "bench" / "learning_curves.svg").read_text()


@pytest.mark.slow
def test_memory_speed(tmp_path):
    task = memory_speed.Task(1, batches=(2,), words=2, bits=3, units=5, slots=7, width=3)
    rows = cells(memory_speed.compare(task, Options(1), tmp_path))
    torch = ["torch"] if importlib.util.find_spec("torch") else []
    loops = [f"`keras.layers.RNN`, {kind}" for kind in ("XLA", "no XLA", "eager")]
    assert [row[0] for row in rows] == ["keras-attn", "keras-attn, no XLA", *loops, *torch]
    assert all(len(row) == 3 and float(row[1].split()[0]) > 0 for row in rows)


def test_the_torch_memories_write_what_they_read():
    torch = pytest.importorskip("torch")
    from benchmarks.torch_memory import NeuralComputer, TuringMachine

    task = memory_speed.Task(1, words=2, bits=3, units=5, slots=7, width=3)
    torch.manual_seed(1)
    for kind in (TuringMachine, NeuralComputer):
        model, state = kind(task), None
        inputs, _, _ = map(torch.from_numpy, task.arrays(2))
        assert model(inputs).shape == (2, 5, 3)
        state = model.first(inputs)
        for _ in range(11):
            parts = torch.randn(2, sum(model.parts)).split(model.parts, dim=-1)
            read, state = model.address(parts, state)
            memory, weights = state[0], torch.stack(state[-2:])
            assert float(weights.detach().min()) >= 0
            assert float(weights.detach().sum(dim=-1).max()) <= 1 + 1e-5
            expected = (weights[1][:, :, None] * memory).sum(dim=1)
            assert torch.allclose(read, expected, atol=1e-6)
