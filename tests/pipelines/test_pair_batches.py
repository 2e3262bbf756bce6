"""Batches of pairs: a few fixed shapes within a budget, nothing lost, padding of weight 0."""

import numpy as np
import pytest

from keras_attn.contracts import END_ID, PAD_ID, SOURCE, START_ID, TOKENS
from keras_attn.text.tokenizer import Tokenizer
from keras_attn_pipelines.data.pairs import TextPair
from keras_attn_pipelines.pair_batches import PairBatches
from keras_attn_pipelines.pair_encoding import TextEncoding
from tests.pipelines.toy_language import pairs

SOURCES, TARGETS = (5, 11, 47), (3, 13, 61)


@pytest.fixture(scope="module")
def tokenizers():
    source, target = zip(*pairs(31))
    return Tokenizer.learn(source, 290), Tokenizer.learn(target, 280)


@pytest.fixture
def make(tokenizers):
    def batches(**options):
        options = {"tokens": 79, "seed": 5, **options}
        return PairBatches(TextEncoding(*tokenizers[::-1]), SOURCES, TARGETS, **options)

    return batches


def read(batches, dataset):
    """Sorted (source, target) texts of a data set, after checking its batches."""
    found = []
    for inputs, targets, weights in dataset:
        source, tokens = inputs[SOURCE].numpy(), inputs[TOKENS].numpy()
        targets, weights = targets.numpy(), weights.numpy()
        assert (len(source), source.shape[1], targets.shape[1]) in batches.shapes
        assert tokens.shape == targets.shape == weights.shape
        np.testing.assert_array_equal(weights, targets != PAD_ID)
        np.testing.assert_array_equal(tokens != PAD_ID, targets != PAD_ID)
        shifted = np.where(targets[:, :-1] == END_ID, PAD_ID, targets[:, :-1])
        np.testing.assert_array_equal(tokens[:, 1:], shifted)
        real = weights[:, 0] > 0
        assert real[0] and (tokens[real, 0] == START_ID).all() and not source[~real].any()
        assert ((source[real] == END_ID).sum(1) == 1).all()
        assert ((targets[real] == END_ID).sum(1) == 1).all()
        texts = (
            batches.encoding.source_tokenizer.decode(source),
            batches.encoding.tokenizer.decode(targets),
        )
        both = zip(*(one.numpy()[real].tolist() for one in texts))
        found += [(one.decode(), two.decode()) for one, two in both]
    return sorted(found)


def test_every_pair_once_in_each_epoch(make):
    batches, own = make(), pairs(101, seed=3)
    rows = batches.rows(own)
    assert not rows.long and len(set(rows.buckets.tolist())) == 3
    dataset, steps = batches.dataset(rows), batches.steps(rows)
    assert read(batches, dataset) == sorted(own)
    assert len(list(dataset)) == len(dataset) == steps
    for epoch in range(3):
        training = batches.training(rows, epoch * steps)
        assert read(batches, training.take(steps)) == sorted(own)


def test_a_step_is_the_same_batch_wherever_one_begins(make):
    def tokens(dataset):
        return [inputs[TOKENS].numpy().tolist() for inputs, _, _ in dataset]

    batches = make()
    rows = batches.rows(pairs(53, seed=3))
    steps = batches.steps(rows)
    epochs = tokens(batches.training(rows).take(2 * steps))
    assert epochs[:steps] != epochs[steps:] and epochs[:steps] != tokens(batches.dataset(rows))
    assert epochs != tokens(make(seed=6).training(rows).take(2 * steps))
    for start in (1, steps - 1, steps + 1):
        again = tokens(batches.training(rows, start).take(3))
        assert again == epochs[start : start + 3]


@pytest.mark.parametrize(
    ("tokens", "replicas", "sizes"),
    [(79, 1, (15, 6, 1)), (79, 2, (14, 6, 2)), (130, 1, (26, 10, 2)), (1, 3, (3, 3, 3))],
)
def test_shapes_are_the_budgets(make, tokens, replicas, sizes):
    batches = make(tokens=tokens, replicas=replicas)
    assert batches.shapes == list(zip(sizes, SOURCES, TARGETS))


def test_padding_is_what_is_counted(make):
    batches = make()
    rows = batches.rows(pairs(53, seed=3))
    cells = [
        np.concatenate([one.numpy().ravel() for one in (inputs[SOURCE], targets)])
        for inputs, targets, _ in batches.dataset(rows)
    ]
    expected = np.mean(np.concatenate(cells) == PAD_ID)
    assert 0.05 < expected < 0.9 and batches.padding(rows) == pytest.approx(expected)


def test_what_is_too_long_is_left_out_and_named(make, tokenizers):
    own = [TextPair("one", "eins"), TextPair("one " * 50, "eins"), TextPair("two", "zwei " * 70)]
    batches = make()
    rows = batches.rows(own)
    assert read(batches, batches.dataset(rows)) == [("one", "eins")]
    lengths = [
        [len(tokenizer.encode([text]).to_list()[0]) + 1 for tokenizer, text in zip(tokenizers, one)]
        for one in own[1:]
    ]
    assert rows.long == [(1, *lengths[0]), (2, *lengths[1])]
    with pytest.raises(
        ValueError, match=r"at most 47 pieces and 61 pieces, ends included, .*none of 2"
    ):
        batches.rows(own[1:])


def test_encoding_in_parts_changes_nothing(make, monkeypatch):
    whole = make().rows(pairs(29))
    monkeypatch.setattr("keras_attn_pipelines.pair_encoding.ENCODED", 7)
    parts = make().rows(pairs(29))
    for one, other in zip(whole[:2], parts[:2]):
        assert one.to_list() == other.to_list()


def test_bad_choices(tokenizers):
    for lengths in ((5, 5), (0, 5), (5,)):
        with pytest.raises(ValueError, match="increasing source_lengths and target_lengths"):
            PairBatches(TextEncoding(*tokenizers), lengths, (3, 7), 79)
    with pytest.raises(ValueError, match="tokens >= 1 and replicas >= 1"):
        PairBatches(TextEncoding(*tokenizers), (3,), (3,), 0)
