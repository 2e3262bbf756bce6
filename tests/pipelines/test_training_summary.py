import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from keras_attn_pipelines.experiment.parts import Request
from keras_attn_pipelines.experiment.stored import stored
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.next_commands import PLACEHOLDER, after_training, example_of
from keras_attn_pipelines.runs.run import Run
from keras_attn_pipelines.runs.training_summary import TrainingSummary, search_note

FIT = {"monitor": "val_bleu", "epochs": 20, "patience": 3, "ended": True}
RECIPE = load_recipe("scenes").replaced({"monitor": "val_cider_d", "epochs": 9})
DESCRIPTION = {
    "recipe": "scenes",
    "parts": stored(RECIPE),
    "data": "/my data",
    "precision": "float32",
    "strategy": "one",
    "unit": "pictures",
    "records": {"train": 300, "dev": 24, "test": 7},
    "model": "tiny",
    "vocabularies": {"tokenizer": 7},
}


def rows(losses, **metrics):
    return [{"val_loss": loss, **metrics} for loss in losses]


@pytest.fixture
def run(tmp_path):
    """Writes a run of two epochs."""

    def write(**description):
        content = {**DESCRIPTION, **description}
        (tmp_path / "recipe.json").write_text(json.dumps(content))
        history = "epoch,val_cider_d,val_loss,tokenizer\n1,0.5,2.5,PTB\n2,0.557,2.4,PTB\n"
        (tmp_path / "history.csv").write_text(history)
        return Run(tmp_path)

    return write


def test_why_training_ended():
    summary = TrainingSummary(**FIT, value=31.234, epoch=7, trained=10, rows=rows([9.0] * 10))
    ended = "training ended after epoch 10: no improvement for 3 epochs"
    assert str(summary) == f"epoch 7 of 20, val_bleu 31.23; {ended}"
    summary = TrainingSummary(**FIT, value=31.0, epoch="mean of the last 3", trained=20)
    assert str(summary) == "mean of the last 3 epochs, val_bleu 31; training ran for all 20 epochs"
    summary = replace(summary, epochs=1, epoch=1, trained=1)
    assert str(summary) == "epoch 1 of 1, val_bleu 31; training ran for 1 epoch"


@pytest.mark.parametrize(
    ("history", "sign"),
    [
        (rows([6.0, 5.0, 4.5], val_bleu=3.0), "val_loss was still falling fast (5 → 4.5)"),
        (rows([6.0, 2.0, 1.9], val_bleu=0.25), "BLEU is 0.25"),
        (rows([6.0, 2.0, 1.9], val_bleu_4=0.0), "BLEU is 0"),
        (rows([0.02, 0.015, 0.0148], val_bleu=99.0), ""),
        (rows([0.03, 0.004], val_bleu=99.0), ""),
    ],
)
def test_a_model_that_is_undertrained(history, sign):
    summary = TrainingSummary(**FIT, value=3.0, epoch=3, trained=3, rows=history)
    assert summary.warning() == (f"This model is undertrained: {sign}." if sign else "")


def test_a_history_that_is_behind_the_checkpoint():
    summary = TrainingSummary(
        **FIT, value=3.0, epoch=3, trained=2, rows=rows([6.0, 5.9], val_bleu=0.5)
    )
    assert summary.warning() == ""


def test_a_training_from_other_weights_says_what_became_of_them(run):
    kept = {"monitor": "val_cider_d", "value": 0.557, "epoch": 2, "sha256": "x"}
    start = {"val_cider_d": 0.4912, "error of val_cider_d": 0.0812, "val_bleu_1": 3.0}
    change = TrainingSummary.of(run(kept=kept, ended=True, start=start)).change
    assert change.endswith("CIDEr-D 0.491 → 0.557 (± 0.081) on 24 pictures")
    assert TrainingSummary.of(run(kept=kept, ended=True)).change == ""
    assert TrainingSummary.of(run(kept={"sha256": "x"}, ended=True)) is None
    with pytest.raises(ValueError, match=r"start in .* to be an object of numbers"):
        TrainingSummary.of(run(start={"val_loss": "x"}))


def test_a_stopped_training_says_so(run):
    stopped = run()
    assert TrainingSummary.of(stopped) is None
    state = {"BestModel": {"best": 0.5, "best_epoch": 1}}
    content = np.frombuffer(json.dumps(state).encode(), np.uint8)
    np.savez(stopped.folder / "checkpoint.npz", state=content)
    ended = "interrupted after epoch 2"
    assert str(TrainingSummary.of(stopped)) == f"epoch 1 of 9, val_cider_d 0.5; {ended}"


def test_the_next_commands_are_ready_to_paste(run):
    trained = run(example="two dogs' toys")
    lines = after_training(trained).splitlines()
    assert lines[1] == f"  keras-attn evaluate {trained.folder} --data '/my data' --split test"
    assert lines[2] == f"  keras-attn export {trained.folder} saved_models/{trained.folder.name}"
    assert lines[3].endswith(f"""{trained.folder.name} 'two dogs'"'"' toys'""")
    assert after_training(run()).endswith(f"keras-attn serve saved_models/{trained.folder.name}")


def test_the_next_commands_name_what_lies_below_from_here(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = run(data=f"{tmp_path}/my data", example=f"{tmp_path}/my data/a dog.jpg")
    lines = after_training(trained)
    assert "--data 'my data' --split" in lines and lines.endswith(" 'my data/a dog.jpg'")


def test_a_split_without_records_is_not_suggested(run):
    lines = after_training(run(records={"train": 300, "dev": 24, "test": 0}))
    assert " --split dev\n" in lines


def request(text):
    return Request("x", {"source": text.encode()})


@pytest.mark.parametrize(
    ("requests", "example"),
    [
        ([request("Two dogs play."), request("Run.")], "Two dogs play."),
        ([request("--out of\tplace"), request("-1 degrees"), request("warm")], "warm"),
        ([request("Max's toys"), request("Run.")], "Run."),
        ([request("Max's toys"), request("Ann's")], "Max's toys"),
        ([request("long " * 99)], "long " * 31 + "long"),
        ([Request("digits.npz, 3", {"image": b"\x89PNG"})], PLACEHOLDER),
        ([Request(__file__, {"image": b"\x89PNG"})], __file__),
        (
            [Request("qa1:3", {"story": b"Mary left.\nJohn ran.", "question": b"Who ran?"})],
            "Mary left. John ran. Who ran?",
        ),
        ([Request("qa1:3", {"story": b"mary left\njohn ran", "question": b"who ran"})], ""),
        (
            [Request("x", {"facts": np.array([[b"Ada", b"born in", b"London"]], object)})],
            '[["Ada", "born in", "London"]]',
        ),
    ],
)
def test_the_example_is_the_first_input_that_fits(requests, example):
    work = SimpleNamespace(request=lambda record: record)
    assert example_of(work, requests) == example


@pytest.mark.parametrize(
    ("recipe", "monitor", "words"),
    [
        (RECIPE, "val_exact", "val_exact is of greedy answers; evaluate searches with a beam of 3"),
        (RECIPE, "val_loss", ""),
        (RECIPE.replaced({"beam_width": 1}), "val_exact", ""),
        (load_recipe("vit_classifier"), "val_accuracy", ""),
    ],
)
def test_greedy_scores_are_told_from_those_of_a_beam(recipe, monitor, words):
    note = search_note(recipe, monitor)
    assert note.startswith(words) and bool(note) == bool(words)
