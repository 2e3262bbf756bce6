"""The counter-based random numbers are Threefry's and uniform."""

import numpy as np
import pytest
from keras import ops

from keras_attn.ops.counter_random import _threefry, _word, counter_uniform

ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ONES, ONES), (ONES, ONES), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_known_answers_of_random123(key, counter, expected):
    assert tuple(int(word) for word in _threefry(*map(_word, (*key, *counter)))) == expected


def test_uniform_and_unrelated():
    numbers = counter_uniform(11, ops.arange(503)[:, None], ops.arange(499))
    numbers = ops.convert_to_numpy(numbers)
    assert numbers.min() >= 0 and numbers.max() <= 1 - 2.0**-23
    counts = np.histogram(numbers, 101, (0, 1))[0]
    assert np.sum((counts - numbers.size / 101) ** 2) / (numbers.size / 101) < 149.4
    for other in (numbers[1:, :], np.roll(numbers, 1, axis=1)[1:]):
        assert abs(np.corrcoef(numbers[:-1].ravel(), other.ravel())[0, 1]) < 0.01
    seeds = ops.convert_to_numpy(counter_uniform(ops.arange(-5003, 5003), 0, 0))
    assert len(np.unique(seeds)) > 9990 and abs(seeds.mean() - 0.5) < 0.01


def test_the_lower_32_bits_of_a_seed_count():
    words = [counter_uniform(ops.array(seed, kind), 3, 5) for seed, kind in SEEDS]
    assert len({float(word) for word in words}) == 1


SEEDS = ((-7, "int32"), (-7, "int64"), (2**32 - 7, "int64"), (2**32 - 7, "uint32"))
