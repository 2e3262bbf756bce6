"""Batches of pairs: a few fixed shapes within a budget, nothing lost, padding of weight 0."""

from dataclasses import replace

import numpy as np
import pytest

from keras_attn.contracts import END_ID, PAD_ID, SOURCE, START_ID, TOKENS
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.data.redrawn_sequences import RedrawnSequences
from keras_attn_pipelines.data.sequence_examples import SequenceExamples
from keras_attn_pipelines.data.sequence_training import BucketedSplit
from keras_attn_pipelines.data.tables import RaggedTable
from keras_attn_pipelines.data.training_data import Records
from keras_attn_pipelines.experiment import Setting
from keras_attn_pipelines.recipes.translator_transformer import RECIPE
from keras_attn_pipelines.tasks.seq2seq.work import sequence_format
from tests.pipelines.toy_language import pairs

SOURCES, TARGETS = (5, 11, 47), (3, 13, 61)
VALUES = {"lengths": TARGETS, "source_lengths": SOURCES, "batch_tokens": 79, "seed": 5}
SEPARATE = {"vocabulary": "separate", "vocabulary_size": 280}


@pytest.fixture(scope="module")
def tokenizers():
    return RECIPE.replaced(SEPARATE).work.learn(pairs(31))


@pytest.fixture
def make(tokenizers):
    def split(own, replicas=1, trains=False, **values):
        recipe = RECIPE.replaced({**SEPARATE, **VALUES, **values})
        setting = Setting(model=recipe.model, fit=recipe.fit, replicas=replicas)
        return BucketedSplit.of(own, sequence_format(recipe.task, tokenizers, setting), trains)

    return split


def shapes(split):
    """(B, S, T) of each bucket."""
    lengths = split.examples.lengths
    return list(zip(split.sizes.values(), lengths[SOURCE], lengths["target"]))


def read(split, tokenizers, dataset):
    """Sorted (source, target) texts of a data set, after checking its batches."""
    texts = []
    for inputs, targets, weights in dataset:
        source, tokens = inputs[SOURCE].numpy(), inputs[TOKENS].numpy()
        targets, weights = targets.numpy(), weights.numpy()
        assert (len(source), source.shape[1], targets.shape[1]) in shapes(split)
        assert tokens.shape == targets.shape == weights.shape
        np.testing.assert_array_equal(weights, targets != PAD_ID)
        np.testing.assert_array_equal(tokens != PAD_ID, targets != PAD_ID)
        shifted = np.where(targets[:, :-1] == END_ID, PAD_ID, targets[:, :-1])
        np.testing.assert_array_equal(tokens[:, 1:], shifted)
        real = weights[:, 0] > 0
        assert real[0] and (tokens[real, 0] == START_ID).all() and not source[~real].any()
        assert ((source[real] == END_ID).sum(1) == 1).all()
        assert ((targets[real] == END_ID).sum(1) == 1).all()
        both = (
            tokenizers["source_tokenizer"].decode(source),
            tokenizers["tokenizer"].decode(targets),
        )
        decoded = zip(*(side.numpy()[real].tolist() for side in both))
        texts += [(first.decode(), second.decode()) for first, second in decoded]
    return sorted(texts)


def test_every_pair_once_in_each_epoch(make, tokenizers):
    own = pairs(101, seed=3)
    split, expected = make(own), sorted((pair.source, pair.target) for pair in own)
    assert not split.long and len(set(split.examples.buckets.tolist())) == 3
    dataset, steps = split.batches.dataset(), split.batches.steps
    assert read(split, tokenizers, dataset) == expected
    assert len(list(dataset)) == len(dataset) == steps
    for epoch in range(3):
        training = split.batches.training(epoch * steps)
        assert read(split, tokenizers, training.take(steps)) == expected


def test_a_step_is_the_same_batch_wherever_one_begins(make):
    def tokens(dataset):
        return [inputs[TOKENS].numpy().tolist() for inputs, _, _ in dataset]

    own = pairs(53, seed=3)
    batches = make(own).batches
    steps = batches.steps
    epochs = tokens(batches.training().take(2 * steps))
    assert epochs[:steps] != epochs[steps:] and epochs[:steps] != tokens(batches.dataset())
    assert epochs != tokens(make(own, seed=6).batches.training().take(2 * steps))
    for start in (1, steps - 1, steps + 1):
        assert tokens(batches.training(start).take(3)) == epochs[start : start + 3]


def test_merges_are_dropped_anew_in_every_step_of_training(make, tokenizers):
    def tokens(dataset):
        return [inputs[TOKENS].numpy().tolist() for inputs, _, _ in dataset]

    own = pairs(53, seed=3)
    expected = sorted((pair.source, pair.target) for pair in own)
    split = make(own, trains=True, bpe_dropout=0.3)
    batches, steps = split.batches, split.batches.steps
    for epoch in range(2):
        assert read(split, tokenizers, batches.training(epoch * steps).take(steps)) == expected
    epochs = tokens(batches.training().take(2 * steps))
    for start in (1, steps + 1):
        assert tokens(batches.training(start).take(3)) == epochs[start : start + 3]
    rows = [sorted(tuple(row) for batch in part for row in batch)
            for part in (epochs[:steps], epochs[steps:])]  # fmt: skip
    assert rows[0] != rows[1]
    dev = make(own, bpe_dropout=0.3).batches.dataset()
    assert tokens(dev) == tokens(make(own).batches.dataset())


def test_a_sequence_too_long_for_its_batch_is_drawn_again_then_taken_as_encoded():
    table = RaggedTable.of([[5, 7, END_ID], [11, 13, END_ID], [17, END_ID]])
    examples, _ = SequenceExamples.of({"a": table}, {"a": (3,)})
    seeds = []

    def draw(rows, seed):
        seeds.append((rows, seed.entropy))
        return [[19] * 3 if row == 0 else [23] * (5 - len(seeds)) for row in rows]

    taken = RedrawnSequences(examples, {"a": draw}, seed=29).take(np.array([0, -1, 2]), step=31)
    assert taken["a"].tolist() == [[5, 7, END_ID], [PAD_ID] * 3, [23, 23, END_ID]]
    assert seeds == [([0, 2], (29, 31, 0, 0)), ([0, 2], (29, 31, 0, 1)), ([0, 2], (29, 31, 0, 2)),
                     ([0], (29, 31, 0, 3))]  # fmt: skip


def test_sequences_that_grow_find_room_in_their_buckets():
    tables = {"a": RaggedTable.of([[3] * size for size in (2, 4, 5, 6, 11, 13)])}
    plain, _ = SequenceExamples.of(tables, {"a": (5, 11)})
    roomy, kept = SequenceExamples.of(tables, {"a": (5, 11)}, {"a": 1.25})
    assert plain.buckets.tolist() == [0, 0, 0, 1, 1]
    assert roomy.buckets.tolist() == [0, 0, 1, 1, 1] and kept.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("tokens", "rows", "replicas", "sizes"),
    [
        (79, 32, 1, (15, 6, 1)),
        (79, 32, 2, (14, 6, 2)),
        (130, 32, 1, (26, 10, 2)),
        (1, 32, 3, (3, 3, 3)),
        (0, 7, 2, (6, 6, 6)),
    ],
)
def test_shapes_are_the_budgets(make, tokens, rows, replicas, sizes):
    split = make(pairs(31), replicas, batch_tokens=tokens, batch_size=rows)
    assert shapes(split) == list(zip(sizes, SOURCES, TARGETS))


def test_padding_is_what_is_counted(make):
    split = make(pairs(53, seed=3))
    cells = [
        np.concatenate([side.numpy().ravel() for side in (inputs[SOURCE], targets)])
        for inputs, targets, _ in split.batches.dataset()
    ]
    expected = np.mean(np.concatenate(cells) == PAD_ID)
    share = split.examples.padding(split.sizes, (SOURCE, "target"))
    assert 0.05 < expected < 0.9 and share == pytest.approx(expected)


def test_what_is_too_long_is_left_out_and_named(make, tokenizers):
    own = [TextPair("one", "eins"), TextPair("one " * 50, "eins"), TextPair("two", "zwei " * 70)]
    split = make(own)
    assert read(split, tokenizers, split.batches.dataset()) == [("one", "eins")]
    assert split.pairs == own[:1]

    def length(name, text):
        return len(tokenizers[name].encode([text]).to_list()[0]) + 1

    assert split.long == [
        (pair, length("source_tokenizer", pair.source), length("tokenizer", pair.target))
        for pair in own[1:]
    ]
    with pytest.raises(
        ValueError, match=r"at most 47 pieces and 61 pieces, ends included, .*none of 2"
    ):
        make(own[1:])


def test_what_is_left_out_is_listed_with_its_place(tokenizers, tmp_path):
    recipe = RECIPE.replaced({**SEPARATE, **VALUES})
    long = TextPair("one " * 50, "eins", line=7)
    splits = {"train": [TextPair("one", "eins", line=1), long], "dev": [TextPair("two", "zwei")]}
    records = Records(splits, files={"train": tmp_path / "train.en"})
    setting = Setting(model=recipe.model, fit=recipe.fit)
    data = recipe.work.encode(records, tokenizers, setting)
    (skipped,) = data.skipped
    assert str(skipped).startswith(f"{tmp_path / 'train.en'}:7: pair of 151 pieces and 5 pieces, ")
    assert any("1 pairs of train have more than 47 pieces or 61" in line for line in data.lines)


def test_encoding_in_parts_changes_nothing(make, monkeypatch):
    whole = make(pairs(29)).examples.tables
    monkeypatch.setattr("keras_attn_pipelines.data.sequence_examples.ENCODED", 7)
    monkeypatch.setattr("keras_attn_pipelines.data.sequence_examples.STORED", 13)
    parts, rows = make(pairs(29)).examples.tables, np.arange(29)
    for name, table in whole.items():
        np.testing.assert_array_equal(table.lengths, parts[name].lengths)
        np.testing.assert_array_equal(table.take(rows, 61), parts[name].take(rows, 61))


def test_tables_keep_their_sequences():
    sequences = [[5, 7], [], [11, 13, 17], [3]]
    table = RaggedTable.of(sequences)
    assert len(table) == 4 and table.lengths.tolist() == [2, 0, 3, 1]
    taken = table.take(np.array([2, -1, 0, 1]), 5)
    assert taken.tolist() == [[11, 13, 17, 0, 0], [0] * 5, [5, 7, 0, 0, 0], [0] * 5]
    assert table.take(np.array([2]), 2).tolist() == [[11, 13]]
    kept = table.kept(np.array([3, 2]))
    assert kept.take(np.array([0, 1]), 3).tolist() == [[3, 0, 0], [11, 13, 17]]
    deep = replace(table, values=np.stack([table.values, table.values + 1], axis=1))
    assert deep.take(np.array([0]), 3).tolist() == [[[5, 6], [7, 8], [0, 0]]]
    assert len(RaggedTable.of([])) == 0


def test_a_bucket_takes_what_fits_by_every_table():
    tables = {"a": RaggedTable.of([[1], [1, 1], [1]]), "b": RaggedTable.of([[1], [1], [1] * 9])}
    examples, kept = SequenceExamples.of(tables, {"a": (1, 2), "b": (3, 5)})
    assert kept.tolist() == [0, 1] and examples.buckets.tolist() == [0, 1]
