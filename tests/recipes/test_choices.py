"""Parts that are chosen by name: flags, refusals, JSON, and runs that were stored without them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keras_attn_pipelines.cli import main
from keras_attn_pipelines.experiment import (
    SGD,
    Adam,
    Cosine,
    Experiment,
    Fit,
    InverseSquareRoot,
    LocationSampling,
    Schedule,
    Staircase,
    choice,
    option,
    part,
)
from keras_attn_pipelines.experiment.stored import _classes, restored, stored
from keras_attn_pipelines.recipes import load_recipe, recipe_names
from keras_attn_pipelines.runs.session import _difference
from keras_attn_pipelines.runs.warm_start import WarmStart
from keras_attn_pipelines.tasks.seq2seq import (
    Bahdanau,
    Global,
    LastState,
    LocalMonotonic,
    LocalPredictive,
    Luong,
    Recurrent,
    Seq2Seq,
    TextPairs,
)

RECIPE = load_recipe("translator_rnn")
EARLIER = {
    "score": "dot",
    "scope": "global",
    "hard": False,
    "window": 3,
    "order": "luong",
    "input_feeding": False,
}


def experiment(model=None, optimizer=None):
    return Experiment(
        source=TextPairs(),
        task=Seq2Seq(),
        model=model or Recurrent(),
        optimizer=optimizer or Adam(),
        fit=Fit(),
    )


@pytest.mark.parametrize(
    "values, scope",
    [
        ({}, Global()),
        ({"hard": True, "score": "location"}, Global(hard=True, score="location")),
        ({"scope": "local-m"}, LocalMonotonic()),
        (
            {"scope": "local-p", "score": "multiplicative", "window": 3},
            LocalPredictive(score="multiplicative", window=3),
        ),
        ({"scope": "none"}, LastState()),
    ],
)
def test_a_name_and_fields_choose_a_part(values, scope):
    chosen = RECIPE.replaced(values)
    assert chosen.model.scope == scope
    assert restored(stored(chosen)) == chosen
    assert {name: chosen.values()[name] for name in values} == values
    kept = {**chosen.inherited(), **chosen.settled()}
    assert RECIPE.replaced(kept).model == chosen.model


def test_a_part_keeps_the_fields_that_the_earlier_one_has_too():
    begun = experiment(Recurrent(scope=Global(score="multiplicative")))
    assert begun.replaced({"scope": "local-p"}).model.scope.score == "multiplicative"
    assert begun.replaced({"order": "bahdanau"}).model.order == Bahdanau()
    changed = RECIPE.replaced({"schedule": "inverse_square_root"}).optimizer.schedule
    assert changed == InverseSquareRoot(warmup_steps=400)


def test_training_that_starts_from_a_run_has_its_parts():
    begun = RECIPE.replaced({"scope": "local-p", "window": 3, "order": "bahdanau"})
    source = WarmStart(Path("runs/begun"), "translator_rnn", begun, {}, None, {})
    assert source.adapted(RECIPE, {"dropout": 0.5}).model == replace(begun.model, dropout=0.5)
    with pytest.raises(ValueError, match="Expected window=3, as in runs/begun"):
        source.adapted(RECIPE, {"window": 5})


def test_hard_attention_starts_from_soft_and_soft_from_hard():
    sizes = {"embedding_dim": 3, "hidden_dim": 5}
    models = {}
    for hard in (False, True):
        chosen = RECIPE.replaced({**sizes, "hard": hard})
        models[hard] = chosen, chosen.model.build({}, {"tokenizer": 13}, int(hard)).model
    for begun, wanted in ((False, True), (True, False), (True, True)):
        experiment, earlier = models[begun]
        source = WarmStart(Path("runs/begun"), "translator_rnn", experiment, {}, earlier, {})
        assert source.adapted(RECIPE, {}).model.scope.hard == begun  # As it was, unless given.
        adapted = source.adapted(RECIPE, {"hard": wanted, "samples": 3, "reward_weight": 1.0})
        assert adapted.model.scope == Global(
            hard=wanted, sampling=LocationSampling(samples=3, reward_weight=1.0)
        )
        going_on = WarmStart(Path("runs/begun"), "translator_rnn", adapted, {}, None, {})
        assert going_on.adapted(RECIPE, {}).model == adapted.model
        model = adapted.model.build({}, {"tokenizer": 13}, 2).model
        source.start(adapted, model)
        for own, other in zip(model.trainable_weights, earlier.trainable_weights, strict=True):
            np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize(
    ("name", "off", "on", "idle"),
    [
        ("translator_rnn", {"hard": False}, {"hard": True}, {"samples": 3, "reward_weight": 1.0}),
        ("translator_rnn", {"gumbel_temperature": 1.0, "hard": True}, None, {"reward_weight": 1.0}),
        ("flickr8k", {"context": "soft"}, {"context": "hard"}, {"samples": 3}),
        ("flickr8k", {"context": "mean"}, {"context": "hard"}, {"attention_dim": 7}),
        ("flickr8k", {"context": "hard"}, {"context": "soft"}, {"attention_penalty": 0.5}),
        ("webnlg_graph", {"slots": 0}, {"slots": 7}, {"name_dropout": 0.3}),
        ("webnlg_graph", {"copies": False}, {"copies": True}, {"longest_run": 4}),
        (
            "translator_conv",
            {"positions": "sinusoidal"},
            {"positions": "learned"},
            {"max_sequence_length": 128},
        ),
        ("vit_classifier", {}, {"pretrained": "folder"}, {"preprocessing": "flags"}),
        ("vit_classifier", {"pretrained": "folder"}, {}, {"patch_size": 8, "num_layers": 2}),
        (
            "flickr8k_vit",
            {"vision": '{"num_layers": 2}'},
            {},
            {"pretrained": "folder", "vision_dim": 8, "vision_dropout": 0.2},
        ),
        ("flickr8k_vit", {"pretrained": "folder"}, {}, {"vision_dim": 8, "vision_dropout": 0.2}),
        ("text_classifier", {"encoder": "recurrent"}, {"encoder": "transformer"}, {"num_heads": 2}),
        ("text_classifier", {"encoder": "embeddings"}, {"encoder": "recurrent"}, {"num_layers": 2}),
        ("text_classifier", {}, {"encoder": "convolutional"}, {"kernel_size": 5}),
        (
            "text_classifier",
            {"encoder": "embeddings", "pooling": "mean"},
            {"encoder": "embeddings", "pooling": "attention"},
            {"hidden_dim": 7},
        ),
        (
            "images_stn",
            {"transforms": ("none",)},
            {"transforms": ("affine", "translation")},
            {"read_size": 31, "bound": 0.2, "parallel": 2},
        ),
        ("images_stn", {"transforms": ("attention",)}, {}, {"parallel": 2}),
        ("images_stn", {}, {"backbone": "efficientnet_lite0"}, {"fine_tune": True}),
        ("images_stn", {}, {"encoder": "vit"}, {"fine_tune": True}),
        ("webnlg_graph", {}, {"batch_tokens": 0}, {"batch_size": 8}),
        ("digits_stn", {"transforms": ("none",)}, {}, {"chooses_by": "places", "read_size": 37}),
        ("ntm_copy", {"cell": "lstm"}, {"cell": "dnc"}, {"num_slots": 7}),
        ("babi_memory_network", {"linear_start": False}, {}, {"linear_epochs": 7}),
        ("babi_memory_network", {}, {"linear_epochs": 0}, {"linear_patience": 5}),
        ("babi_dnc", {}, None, {"linear_epochs": 7}),
    ],
)
def test_values_without_effect_are_refused(name, off, on, idle):
    recipe = load_recipe(name)
    for field, value in idle.items():
        with pytest.raises(ValueError, match=f"with {field}, which has no effect.*{field}="):
            recipe.replaced({**off, field: value}).check_effect({**off, field: value})
        default = next(
            declared.default for _, declared, _, _ in recipe.flags() if declared.name == field
        )
        recipe.replaced({**off, field: default}).check_effect({field: default})
        if on is not None:
            recipe.replaced({**on, field: value}).check_effect({field: value})


def test_what_a_field_needs_are_fields_of_a_recipe():
    known, needed = {}, set()
    for recipe in recipe_names():
        for _, declared, _, _ in load_recipe(recipe).flags():
            known.setdefault(declared.name, []).append(declared)
            needed |= {item for needs in declared.metadata["needs"] for item in needs.items()}
    assert {"hard", "context", "slots", "cell"} <= {name for name, _ in needed} <= set(known)
    for name, wanted in needed:
        for value in wanted if isinstance(wanted, tuple) else (wanted,):
            holds = [declared.metadata["range"].holds(value) for declared in known[name]]
            assert isinstance(value, bool) or any(holds)


def test_the_command_line_refuses_a_flag_without_effect(tmp_path, capsys):
    flags = ["--data", str(tmp_path), "--out", str(tmp_path / "run"), "--samples", "4"]
    assert main(["train", "translator_rnn", *flags]) == 2
    wanted = "Expected hard to be set with samples, which has no effect otherwise. Received: hard"
    assert wanted in capsys.readouterr().err


def test_a_run_to_go_on_from_says_what_has_an_effect():
    recipe = load_recipe("translator_rnn")
    for hard in (False, True):
        source = WarmStart(
            Path("runs/begun"), "translator_rnn", recipe.replaced({"hard": hard}), {}, None, {}
        )
        adapted = source.adapted(recipe, {"samples": 4})
        if hard:
            adapted.check_effect({"samples": 4})
        else:
            with pytest.raises(ValueError, match="Expected hard to be set with samples"):
                adapted.check_effect({"samples": 4})


def test_other_contexts_of_a_captioner_are_refused():
    recipe = load_recipe("flickr8k")
    for begun, wanted in (("soft", "mean"), ("mean", "bottleneck"), ("mean", "soft")):
        experiment = recipe.replaced({"context": begun})
        source = WarmStart(Path("runs/begun"), "flickr8k", experiment, {}, None, {})
        assert source.adapted(recipe, {}).model.context == begun
        with pytest.raises(ValueError, match=f"Expected context='{begun}', as in runs/begun"):
            source.adapted(recipe, {"context": wanted})


@pytest.mark.parametrize(
    "values, message",
    [
        ({"scope": "none", "score": "dot"}, r"of the recipe with .*scope=none.*Received: score"),
        ({"scope": "local-m", "hard": True}, "scope=local-m.*Received: hard"),
        ({"scope": "local-p", "score": "location"}, "Expected score to be one of dot, .*location"),
        ({"order": "bahdanau", "input_feeding": False}, "order=bahdanau.*Received: input_feeding"),
        ({"window": 3}, "scope=global.*Received: window"),
        ({"scope": "wide"}, "Expected scope to be one of global, local-m, .*scope='wide'"),
        ({"scope": 3}, "Expected scope of type str"),
        ({"score": "dot"}, "Expected an encoder as wide as the decoder"),
    ],
)
def test_what_does_not_go_together_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        RECIPE.replaced(values)


@pytest.mark.parametrize(
    "given, message",
    [
        ("cosine", "Expected schedule to be an instance of a class with @part.*'cosine'"),
        (Cosine, "Expected schedule to be an instance"),
        (Fit(), "Expected schedule Fit to have build, notes, see .*schedules.Schedule"),
    ],
)
def test_what_is_no_schedule_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Adam(schedule=given)


@part
class Flat:
    """A schedule of one's own."""

    share: float = option("share of the peak", default=0.5, above=0, most=1)

    def build(self, peak, steps):
        return self.share * peak

    def notes(self, steps):
        return [f"{steps} steps alike"]


@part
class Rising(Flat):
    """Another one."""


@part
class Whole:
    share: int = option("share of the peak", default=1, least=0)


def test_a_schedule_of_ones_own():
    own = experiment(optimizer=Adam(schedule=Flat()))
    assert own.values()["schedule"] == "Flat"
    changed = own.replaced({"share": 0.25})
    assert changed.optimizer.schedule == Flat(share=0.25)
    assert float(changed.optimizer.build(7).learning_rate) == pytest.approx(0.25e-3)
    assert own.optimizer.notes(7) == ["7 steps alike"]
    assert own.replaced({"schedule": "cosine"}).optimizer.schedule == Cosine()


@pytest.mark.parametrize(
    "scope, values, expected",
    [
        ("global", {"hard": True}, Global(score="dot", hard=True)),
        ("local-m", {}, LocalMonotonic(score="dot", window=3)),
        ("local-p", {}, LocalPredictive(score="dot", window=3)),
        ("none", {"order": "bahdanau"}, LastState()),
    ],
)
def test_runs_of_earlier_versions_are_restored(scope, values, expected):
    kept = experiment(Recurrent(bidirectional=False, cell="gru"))
    parts = stored(kept)
    for name in ("scope", "order"):
        del parts["model"][name]
    parts["model"] |= {**EARLIER, "scope": scope, **values}
    parts["optimizer"] |= {"schedule": "inverse_square_root", "warmup_steps": 17}
    model = restored(parts).model
    assert (model.scope, model.cell) == (expected, "gru")
    assert model.order == (Bahdanau() if values.get("order") else Luong(input_feeding=False))
    assert restored(parts).optimizer == Adam(schedule=InverseSquareRoot(warmup_steps=17))
    parts["optimizer"] = {"type": "experiment.SGD", "schedule": "staircase", "warmup_steps": 5}
    assert restored(parts).optimizer == SGD(schedule=Staircase(warmup_steps=5))
    parts["optimizer"] = {"type": "experiment.SGD", "schedule": "spiral"}
    with pytest.raises(ValueError, match=r"Expected a part as schedule of experiment\.SGD"):
        restored(parts)


def test_runs_with_a_chosen_part_of_the_recipe_file_are_restored():
    kinds = {"flat": Flat, "rising": Rising}
    of_file = type("Paced", (), {"__annotations__": {"pace": Schedule}, "build": None})
    of_file.pace = choice("pace", default=Flat(), kinds=kinds)
    assert {"Flat", "Rising"} <= set(_classes(part(of_file)()))


def test_a_kept_value_gives_way_to_a_given_one():
    begun = experiment(Recurrent(scope=Global(score="location")))
    changed = begun.replaced({"scope": "local-m", "score": "multiplicative"})
    assert changed.model.scope == LocalMonotonic(score="multiplicative")
    with pytest.raises(ValueError, match=r"Expected score to be one of .*'location'"):
        begun.replaced({"scope": "local-m"})


def test_parts_of_one_choice_have_fields_of_one_type():
    with pytest.raises(ValueError, match=r"Expected one type of share .*float and int"):
        choice("pace", default=Flat(), kinds={"flat": Flat, "whole": Whole})


def test_the_field_that_differs_is_named():
    begun, now = stored(RECIPE), stored(RECIPE.replaced({"schedule": "staircase"}))
    assert _difference(begun, now) == "experiment.Cosine instead of experiment.Staircase"


@pytest.mark.parametrize("name", ["Experiment", "Records"])
def test_what_is_no_part_is_refused(name):
    parts = {**stored(RECIPE), "source": {"type": f"experiment.{name}"}}
    with pytest.raises(ValueError, match="in the parts in run"):
        restored(parts, place="run")


def test_recipes_list_what_is_chosen(capsys):
    assert main(["recipes", "translator_rnn"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line[:1] in (["scope"], ["order"], ["schedule"])] == [
        ["scope", "global"],
        ["order", "luong"],
        ["schedule", "cosine"],
    ]


def test_help_has_the_fields_of_all_choices(capsys):
    with pytest.raises(SystemExit):
        main(["train", "translator_rnn", "--help"])
    text = capsys.readouterr().out
    assert (
        "--window" in text and "--scope" in text and "(default: global)" in " ".join(text.split())
    )
    for flag in ("--score ", "--warmup-steps "):
        assert text.count(flag) == 1
