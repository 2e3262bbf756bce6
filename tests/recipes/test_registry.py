"""What every recipe has to do before anything is read: be registered, and check its fields."""

import math
from dataclasses import replace

import pytest

from keras_attn_pipelines.cli import main
from keras_attn_pipelines.experiment import Adam, Experiment, Fit
from keras_attn_pipelines.experiment.fields import Range
from keras_attn_pipelines.experiment.stored import restored, stored
from keras_attn_pipelines.recipes import load_recipe, recipe_names
from keras_attn_pipelines.tasks import captioning, classification, parsing, seq2seq
from tests.recipes.registry import ROWS

RECIPES = [pytest.param(load_recipe(row.name), id=row.name) for row in ROWS]


def test_every_recipe_is_registered():
    assert sorted(row.name for row in ROWS) == recipe_names()


def outside(limits: Range):
    """A value just out of a range; None where every value is in it."""
    if limits.buckets:
        return (7, 3)
    if limits.choices:
        return "no such choice"
    if limits.least is not None:
        return limits.least - 1
    if limits.above is not None:
        return limits.above
    if limits.most is not None:
        return limits.most + 1
    return limits.below


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_field_is_checked(recipe):
    checked = 0
    for _, field, kind, value in recipe.flags():
        if field.name not in recipe.values():
            others = r"Expected fields of the recipe with .*(scope=global|sizes=own|encoder=)"
            with pytest.raises(ValueError, match=others):
                recipe.replaced({field.name: value})
            continue
        bad = outside(field.metadata["range"])
        if bad is not None:
            bad = (bad,) if isinstance(value, tuple) and not isinstance(bad, tuple) else bad
            with pytest.raises(ValueError, match=f"Expected {field.name} .*Received: {field.name}"):
                recipe.replaced({field.name: bad})
            checked += 1
        if kind is float:
            limits = field.metadata["range"]
            assert not limits.holds(math.nan), field.name
        with pytest.raises(ValueError, match=f"Expected {field.name} of type"):
            recipe.replaced({field.name: object()})
    assert checked > 10
    with pytest.raises(ValueError, match=r"Expected fields of the recipe\. Received: zoom"):
        recipe.replaced({"zoom": 1})


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_comes_back_from_json(recipe):
    assert replace(restored(stored(recipe)), needs_start=recipe.needs_start) == recipe


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_field_is_a_flag(row, capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["train", row.name, "--help"])
    shown = capsys.readouterr().out
    for name in load_recipe(row.name).values():
        assert f"--{name.replace('_', '-')}" in shown


TRANSLATION = {"source": seq2seq.TextPairs(), "task": seq2seq.Seq2Seq()}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {
                "source": parsing.Treebank(),
                "task": parsing.Parsing(),
                "model": seq2seq.Transformer(),
            },
            "Expected a model with outputs logits, tag_logits. Received: Transformer for Parsing, "
            "without tag_logits",
        ),
        (
            {**TRANSLATION, "model": captioning.ShowAttendTell()},
            "Expected a model that reads source, tokens. Received: ShowAttendTell for Seq2Seq, "
            "which reads image, tokens",
        ),
        (
            {**TRANSLATION, "source": parsing.Treebank(), "model": seq2seq.Transformer()},
            "Expected a source of pairs of texts for Seq2Seq. Received: Treebank, a source of "
            "trees",
        ),
        (
            {
                "source": classification.LabeledPictures(),
                "task": classification.Classification(),
                "model": classification.VisionTransformer(),
                "fit": Fit(batch_tokens=7),
            },
            "Expected batch_tokens=0 with Classification",
        ),
        (
            {**TRANSLATION, "model": seq2seq.Transformer(), "fit": Fit(monitor="val_f1")},
            "monitor to be one of loss, token_accuracy, val_loss, .*Received: monitor='val_f1'",
        ),
        (
            {
                **TRANSLATION,
                "model": seq2seq.Transformer(),
                "optimizer": Adam(average=2),
                "fit": Fit(monitor="loss"),
            },
            "Expected a monitor on dev with average > 1",
        ),
        (
            {**TRANSLATION, "model": seq2seq.Transformer},
            "Expected model to be an instance of a class with @part",
        ),
        (
            {**TRANSLATION, "model": captioning.SmallConv()},
            "Expected model SmallConv to have reads, answers, see .*parts.Model",
        ),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        Experiment(**parts)
