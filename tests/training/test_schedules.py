"""Learning rates against their formulas."""

import keras
import numpy as np
import pytest

from keras_attn.training.schedules import (
    InverseSquareRoot,
    paper_schedule,
    staircase,
    warmup_cosine,
)


def test_papers_formula_with_steps_from_one():
    schedule = paper_schedule(hidden_dim=7, warmup_steps=11)
    for done in (*range(40), 10**6):
        n = done + 1
        expected = 7**-0.5 * min(n**-0.5, n * 11**-1.5)
        np.testing.assert_allclose(float(schedule(done)), expected, rtol=1e-6)


def test_rises_to_its_peak_and_falls():
    schedule = InverseSquareRoot(0.3, 5)
    rates = np.array([float(schedule(done)) for done in range(45)])
    np.testing.assert_allclose(rates[:5], 0.3 * np.arange(1, 6) / 5, rtol=1e-6)
    assert rates.argmax() == 4
    np.testing.assert_allclose(rates[[19, 44]], [0.15, 0.1], rtol=1e-6)


def test_comes_back_from_its_config():
    schedule = InverseSquareRoot(0.3, 5)
    described = keras.optimizers.schedules.serialize(schedule)
    again = keras.optimizers.schedules.deserialize(described)
    assert (again.peak, again.warmup_steps) == (0.3, 5)


def test_warmup_cosine():
    schedule = warmup_cosine(2.0, 10, 110)
    rates = [float(schedule(step)) for step in (0, 5, 10, 60, 110)]
    np.testing.assert_allclose(rates, [0, 1, 2, 1, 0], atol=1e-5)
    assert float(warmup_cosine(2.0, 0, 100)(0)) == 2


def test_bad_arguments():
    with pytest.raises(ValueError, match="Received: peak=0, warmup_steps=5"):
        InverseSquareRoot(0, 5)
    with pytest.raises(ValueError, match="Received: peak=1, warmup_steps=0"):
        InverseSquareRoot(1, 0)
    with pytest.raises(ValueError, match="Received: hidden_dim=0, warmup_steps=5"):
        paper_schedule(0, 5)
    with pytest.raises(ValueError, match="warmup_steps=7"):
        warmup_cosine(0.1, 7, 7)


@pytest.mark.parametrize("rest", range(1, 9))
def test_a_staircase_begins_at_the_peak_and_never_rises(rest):
    schedule = staircase(0.8, 3, 3 + rest)
    rates = [float(schedule(step)) for step in range(3 + rest)]
    assert rates[:3] == pytest.approx([0.4] * 3) and rates[3] == pytest.approx(0.8)
    assert sorted(rates[3:], reverse=True) == rates[3:]
    assert rates[-1] == pytest.approx({1: 0.8, 2: 0.2, 3: 0.2}.get(rest, 0.1))
    for bad in ((0, 0, 3), (0.8, 3, 3), (0.8, -1, 3)):
        with pytest.raises(ValueError, match="Expected peak > 0 and 0 <= warmup_steps < steps"):
            staircase(*bad)
