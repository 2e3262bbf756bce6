"""Training batches with made-up names, and with nothing but the slots of names."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.contracts import PAD_ID, SOURCE, TARGET
from keras_attn.models.data_to_text.fact_encoder import FactTokens
from keras_attn_pipelines.data.facts import FactSet
from keras_attn_pipelines.experiment.parts import Setting
from keras_attn_pipelines.recipes.webnlg_graph import RECIPE
from keras_attn_pipelines.tasks.data_to_text import SetsOfFacts
from keras_attn_pipelines.tasks.data_to_text.made_up_names import NAMED, PROPERTY, MadeUpNames
from tests.pipelines.toy_facts import TINY, write_facts


@pytest.fixture(scope="module")
def setting():
    return Setting(RECIPE.model, RECIPE.replaced({"batch_tokens": 400}).fit)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return SetsOfFacts().read(write_facts(tmp_path_factory.mktemp("data") / "facts"))


def batches(records, setting, share, slots=0, **more):
    task = RECIPE.replaced(
        {**TINY, "made_up_names": share, "slots": slots, "name_dropout": 0.0, **more}
    ).task
    data = task.work().encode(records, task.work().learn(records.splits["train"]), setting)
    return data, list(data.training(0).take(data.steps))


@pytest.mark.systems
def test_names_are_replaced_in_training_only(records, setting):
    data, plain = batches(records, setting, 0.0)
    other, made_up = batches(records, setting, 0.9)
    again = next(iter(other.training(1)))
    tf.nest.map_structure(np.testing.assert_array_equal, again, made_up[1])
    tf.nest.map_structure(np.testing.assert_array_equal, list(data.dev), list(other.dev))
    tokenizer, changed = other.extra.vocabularies["tokenizer"], 0
    for (inputs, targets, weights), (known, real, expected) in zip(made_up, plain):
        np.testing.assert_array_equal(weights, expected)
        assert not (inputs[SOURCE][..., 1:] != known[SOURCE][..., 1:]).numpy().any()
        moved = (targets != real).numpy()
        changed += moved.any(axis=1).sum()
        source, origin = (batch[SOURCE].numpy()[..., 0] for batch in (inputs, known))
        mapped = dict(zip(origin[source != origin], source[source != origin]))
        for before, after in zip(real.numpy()[moved], targets.numpy()[moved]):
            assert mapped[before] == after
        pieces = [tokenizer.pieces(tokens).numpy() for tokens in (list(mapped), [*mapped.values()])]
        for before, after in zip(*pieces):
            assert before.startswith("▁".encode()) == after.startswith("▁".encode())
            assert before.decode().removeprefix("▁").isalpha()
        read, said = inputs["tokens"][:, 1:].numpy(), targets[:, :-1].numpy()
        np.testing.assert_array_equal(read[moved[:, :-1]], said[moved[:, :-1]])
    assert changed > 30


def test_names_in_slots_are_respelled_in_the_facts_alone(records, setting):
    data, plain = batches(records, setting, 0.0, slots=5)
    other, made_up = batches(records, setting, 0.9, slots=5)
    tokenizer = other.extra.vocabularies["tokenizer"]
    tf.nest.map_structure(np.testing.assert_array_equal, list(data.dev), list(other.dev))
    respelled = 0
    for (inputs, targets, _), (known, real, _) in zip(made_up, plain):
        np.testing.assert_array_equal(targets, real)
        np.testing.assert_array_equal(inputs["tokens"], known["tokens"])
        source, origin = (batch[SOURCE].numpy()[..., 0] for batch in (inputs, known))
        said, slots = (tokenizer.slots_of(tokens).numpy() for tokens in (targets, source))
        np.testing.assert_array_equal(slots, tokenizer.slots_of(origin).numpy())
        respelled += (source != origin).any(axis=1).sum()
        for row in range(len(said)):  # Texts say slots of their own facts.
            assert {*said[row]} <= {-1, *slots[row]}
    assert respelled > 30
    assert tokenizer.slots == 4  # A set has no more names.
    assert "slots: 4, no set of training has more names" in other.lines


def test_a_set_that_cannot_be_read_adds_no_slots(records):
    task = RECIPE.replaced({**TINY, "slots": 32}).task
    long = FactSet(tuple(("Ada", "field", str(number)) for number in range(9)), ("Too long.",))
    assert task.work().learn([*records.splits["train"], long])["tokenizer"].slots == 4


def test_only_names_that_the_text_says_are_replaced(records, setting):
    task = RECIPE.replaced(TINY).task
    tokenizer = task.work().learn(records.splits["train"])["tokenizer"]
    pieces = tokenizer.encode(["Ada Low"])[0].numpy()
    source = np.zeros((1, 2 * len(pieces), 7), "int32")
    source[0, :, 0] = np.tile(pieces, 2)
    source[0, :, 3] = np.repeat([1, 2], len(pieces))
    named = np.repeat([0, 1], (2, len(pieces)))[None].astype("int32")
    target = np.concatenate([[7, 9], pieces])[None].astype("int32")
    features = {SOURCE: tf.constant(source), TARGET: tf.constant(target), NAMED: tf.constant(named)}
    renamed = MadeUpNames(tokenizer, 1.0, 3)(features, tf.constant(5, tf.int64))
    first, second = np.split(renamed[SOURCE].numpy()[0, :, 0], 2)
    assert (first != pieces).any() and (second == pieces).all()
    assert renamed[TARGET].numpy()[0].tolist() == [7, 9, *first]


def test_of_a_name_nothing_but_its_slot_is_left(records, setting):
    _, plain = batches(records, setting, 0.0, slots=5)
    data, dropped = batches(records, setting, 0.0, slots=5, name_dropout=0.5)
    tokenizer, kept = data.extra.vocabularies["tokenizer"], []
    tf.nest.map_structure(np.testing.assert_array_equal, next(iter(data.training(1))), dropped[1])
    for (inputs, targets, _), (known, real, _) in zip(dropped, plain):
        np.testing.assert_array_equal(targets, real)
        for row, origin in zip(inputs[SOURCE].numpy(), known[SOURCE].numpy()):
            tokens, missing = FactTokens.of(origin), (row != origin).any(axis=1)
            assert (row[missing] == PAD_ID).all()
            for node in {*tokens.nodes[tokens.roles != PROPERTY]} - {0}:
                own = (tokens.nodes == node) & (tokens.roles != PROPERTY)
                spelling = own & (tokenizer.slots_of(tokens.pieces).numpy() < 0)
                kept.append(not missing[own].any())
                np.testing.assert_array_equal(missing[own], spelling[own] & ~kept[-1])
            assert not missing[tokens.roles == PROPERTY].any()
    assert 0.3 < np.mean(kept) < 0.7 and len(kept) > 100
