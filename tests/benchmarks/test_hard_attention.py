"""Hard attention goes on from soft, by each estimator and each seed."""

import pytest

from benchmarks import hard_attention
from keras_attn_pipelines.runs.run import Run

pytestmark = pytest.mark.slow


def test_every_estimator_goes_on_from_soft_attention(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for split, count in (("train", 13), ("val", 5)):
        lines = [
            " ".join(f"w{(row + word) % 7}" for word in range(1 + row % 5)) for row in range(count)
        ]
        for suffix, order in (("en", 1), ("de", -1)):
            texts = "\n".join(" ".join(line.split()[::order]) for line in lines)
            (data / f"{split}.{suffix}").write_text(f"{texts}\n")
    task = hard_attention.TASKS["translation"]
    sizes = {"hidden_dim": 7, "embedding_dim": 5, "vocabulary_size": 290, "batch_tokens": 100}
    soft = {**task.soft, **sizes, "lengths": (12,), "epochs": 1, "average": 1}
    task = task._replace(soft=soft, further={"epochs": 1})
    estimators = {
        name: hard_attention.ESTIMATORS[name] for name in ("two samples", "straight-through")
    }
    given = task, data, tmp_path / "out", (1, 2), estimators
    table = hard_attention.compare(*given)
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert rows == ["soft", "soft, trained on", *estimators]
    assert all(line.count("(") == 2 and line.count(",") >= 2 for line in table.splitlines()[2:])
    for name, hard in (("soft,_trained_on_2", False), ("two_samples_2", True)):
        experiment = Run(tmp_path / "out" / name).experiment()
        assert experiment.model.scope.hard == hard and experiment.fit.seed == 2
    assert hard_attention.compare(*given) == table  # Nothing is trained again.
