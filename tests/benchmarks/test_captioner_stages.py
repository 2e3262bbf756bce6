"""A captioner in stages: each goes on from the one before, and nothing is trained twice."""

import pytest

from benchmarks import captioner_stages, trainings
from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.runs.run import Run

pytestmark = pytest.mark.slow

TINY = {
    "encoder": "small_conv",
    "fine_tune": True,
    "unfreeze_step": 1,
    "image_size": 32,
    "num_encoder_layers": 1,
    "num_layers": 1,
    "hidden_dim": 6,
    "intermediate_dim": 7,
    "num_heads": 2,
    "vocabulary_size": 300,
    "batch_size": 5,
    "epochs": 1,
    "average": 1,
}


def test_the_captioner_in_two_stages_and_their_mean(tmp_path, monkeypatch):
    data = write_scenes(tmp_path / "data", train=11, dev=3, test=2, novel=2)
    less = {"tuned": TINY, "rewarded": {"epochs": 1, "average": 1}}
    small = {name: {**captioner_stages.STAGES[name], **values} for name, values in less.items()}
    given = data, tmp_path / "out", tmp_path / "cache", "auto", small
    table = captioner_stages.compare(*given)
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert rows == ["tuned", "rewarded", "mean"]
    experiment = Run(tmp_path / "out" / "rewarded").experiment()
    assert experiment.task.bleu_weight == 0.5 and experiment.values()["hidden_dim"] == 6
    assert Run(tmp_path / "out" / "mean").description["mean_of"]
    with monkeypatch.context() as patch:
        patch.setattr(trainings, "train", None)
        patch.setattr(captioner_stages, "average", None)
        assert captioner_stages.compare(*given) == table
