"""The tokenization of metrics in the table of each task that generates texts."""

from types import SimpleNamespace

import numpy as np
import pytest

from keras_attn.contracts import SCORE, TEXT
from keras_attn.evaluation.caption_metrics import TOKENIZER_NAMES
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.stored import restored, stored
from keras_attn_pipelines.recipes import load_recipe
from keras_attn_pipelines.runs.session import _resolved_as
from keras_attn_pipelines.tasks.captioning import work

CHINESE, ENGLISH = "老人在河边钓鱼。", "An old man fishes by the river."


def record(text):
    """A record of every task, whose answer should be a text."""
    return SimpleNamespace(
        name="a.jpg",
        source="s",
        target=text,
        texts=[text],
        captions=[text],
        facts=[(text[:2], "is", text[2:5])],
        orders=[],
    )


@pytest.mark.parametrize(
    ("recipe", "flag", "names"),
    [
        ("translator_rnn", "intl", {CHINESE: "|tok:zh|", ENGLISH: "|tok:13a|"}),
        ("webnlg_graph", "intl", {CHINESE: "|tok:zh|", ENGLISH: "|tok:13a|"}),
        (
            "flickr8k",
            "ptb",
            {CHINESE: TOKENIZER_NAMES["char"], ENGLISH: TOKENIZER_NAMES["ptb"]},
        ),
    ],
)
def test_the_table_and_the_history_name_it(recipe, flag, names, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)  # No METEOR.
    tokenizer = SimpleNamespace(normalize_all=list)
    for text, name in names.items():
        records, answers = [record(text)], [{TEXT: np.array([text.encode()]), SCORE: np.zeros(1)}]
        task = load_recipe(recipe).task
        for asked, expected in ((task, name), (task.work().resolve_auto(records), name)):
            arguments = (records, answers, {"tokenizer": tokenizer}, {"beam_width": 2})
            evaluation = asked.work().evaluation(*arguments)
            assert expected in evaluation.table() and expected in evaluation.json()
        other = load_recipe(recipe).replaced({"metric_tokenization": flag}).task
        table = other.work().evaluation(*arguments).table()
        assert (name in table) == (flag == "ptb" and text == ENGLISH)
        assert other.work().resolve_auto(records) == other
        monitor = task.spec.monitors[0]
        assert evaluation.scores[monitor] == pytest.approx(task.spec.best_possible[monitor])


@pytest.mark.parametrize(("asked", "given"), [(True, None), (False, False)])
def test_meteor_can_be_left_out(asked, given, monkeypatch):
    received = []

    def metrics(captions, references, meteor, tokenization):
        received.append(meteor)
        return {"bleu_4": 1.0}

    monkeypatch.setattr(work, "caption_metrics", metrics)
    task = load_recipe("flickr8k").replaced({"meteor": asked}).task
    tokenizer = SimpleNamespace(normalize_all=list)
    answers = [{TEXT: np.array([b"x"]), SCORE: np.zeros(1)}]
    arguments = ([record("x")], answers, {"tokenizer": tokenizer}, {"beam_width": 2})
    table = task.work().evaluation(*arguments).table()
    assert received == [given] and ("needs Java" in table) == asked


def test_what_follows_a_prompt_is_scored():
    task = load_recipe("flickr8k_vit").replaced({"prompt": "A photo of"}).task
    tokenizer = SimpleNamespace(normalize_all=lambda texts: [text.lower() for text in texts])
    answers = [{TEXT: np.array([b"a photo of a dog on sand"]), SCORE: np.zeros(1)}]
    arguments = ([record("a dog on sand")], answers, {"tokenizer": tokenizer}, {"beam_width": 2})
    evaluation = task.work().evaluation(*arguments)
    assert evaluation.scores["bleu_4"] == pytest.approx(100) and evaluation.scores["exact"] == 1
    assert "a photo of a dog on sand" in evaluation.json()


def test_a_resumed_training_takes_what_the_stopped_one_decided():
    recipe = load_recipe("translator_rnn")
    decided = recipe.replaced({"metric_tokenization": "char"})
    assert _resolved_as(decided, recipe) == decided
    assert _resolved_as(decided, other := recipe.replaced({"metric_tokenization": "zh"})) == other
    earlier = stored(recipe)
    del earlier["task"]["scoring"]
    assert isinstance(restored(earlier), Experiment) and restored(earlier) == recipe
