"""How often a first run reads its pictures."""

from collections import Counter
from pathlib import Path

import pytest
import tensorflow as tf

from keras_attn_pipelines.demo.scenes import write_scenes
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.prepared import prepare
from tests.recipes.registry import RECURRENT


@pytest.mark.systems
def test_a_first_run_reads_each_picture_at_most_twice_before_its_first_step(tmp_path, monkeypatch):
    """Once to examine it, once for its features; nothing else opens it."""
    data = write_scenes(tmp_path / "scenes", train=11, dev=3, test=3, novel=1)
    pictures = {path for path in data.rglob("*") if path.suffix in (".jpg", ".png")}
    reads, opened = Counter(), Path.open

    def counted(path, *args, **kwargs):
        reads[path] += 1
        return opened(path, *args, **kwargs)

    def in_graph(path):
        return tf.numpy_function(lambda name: Path(name.decode()).read_bytes(), [path], tf.string)

    monkeypatch.setattr(Path, "open", counted)
    monkeypatch.setattr(tf.io, "read_file", in_graph)
    experiment = load_recipe("scenes").replaced({**RECURRENT, "fine_tune": False})
    ready = prepare(experiment, data)
    ready.compile(ready.build())
    for _ in ready.data.training(0).take(1):
        pass
    counts = {reads[path] for path in pictures}
    assert len(pictures) > 11 and counts <= {1, 2} and 2 in counts
