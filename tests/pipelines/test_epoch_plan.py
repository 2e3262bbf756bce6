import numpy as np
import pytest
import tensorflow as tf

from keras_attn_pipelines.data.epoch_plan import FILLING, EpochPlan

LENGTHS = np.array([7, 3, 7, 3, 3, 11, 7, 7, 3, 7, 7, 7, 7])


def epoch(plan, number=0):
    steps = range(number * plan.steps, (number + 1) * plan.steps)
    return [plan.batch(tf.constant(step, tf.int64)).numpy() for step in steps]


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("size", [1, 2, 5, 17])
def test_each_row_once_in_batches_of_one_length(seed, size):
    plan = EpochPlan(LENGTHS, size, seed)
    for number in (0, 1, 1000):
        batches = epoch(plan, number)
        assert all(len(batch) == size and batch[0] != FILLING for batch in batches)
        rows = [batch[batch != FILLING] for batch in batches]
        assert sorted(np.concatenate(rows)) == list(range(len(LENGTHS)))
        assert all(len(set(LENGTHS[own])) == 1 for own in rows)
        short = sum(len(own) < size for own in rows)
        assert short <= 3


def test_without_a_seed_rows_keep_their_order():
    batches = epoch(EpochPlan(LENGTHS, 3))
    assert [batch.tolist() for batch in batches[:2]] == [[1, 3, 4], [8, FILLING, FILLING]]
    assert batches[2].tolist() == [0, 2, 6] and batches[5].tolist() == [5, FILLING, FILLING]


def test_epochs_and_seeds_differ_and_nothing_else_does():
    orders = {
        (seed, number): np.concatenate(epoch(EpochPlan(LENGTHS, 2, seed), number)).tolist()
        for seed in (5, 6)
        for number in (0, 1)
    }
    assert len({tuple(order) for order in orders.values()}) == 4
    assert orders[5, 1] == np.concatenate(epoch(EpochPlan(LENGTHS, 2, 5), 1)).tolist()


@pytest.mark.systems
def test_shuffles_are_spread():
    """Over many epochs each row stands about equally often in each batch of its length."""
    lengths = np.full(12, 5)
    plan = EpochPlan(lengths, 4, 3)
    counts = np.zeros((12, 3))
    for number in range(301):
        for place, batch in enumerate(epoch(plan, number)):
            counts[batch, place] += 1
    assert counts.min() > 60 and counts.max() < 145
