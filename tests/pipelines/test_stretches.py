"""The calls of `fit` cover every step once, whatever the start and the thaw."""

import pytest

from keras_attn_pipelines.runs.stretches import stretches


@pytest.mark.parametrize("thaw", [0, 3, 5, 7, 10, 14])
@pytest.mark.parametrize("start", range(16))
def test_every_step_once(start, thaw):
    steps, epochs = 5, 3
    done = start
    for stretch in stretches(start, steps, epochs, thaw):
        assert stretch.start == done and stretch.epoch == done // steps
        count = (stretch.last - stretch.epoch) * stretch.steps
        assert count > 0
        assert stretch.frozen == (done < thaw)
        assert not done < thaw < done + count
        done += count
        assert stretch.ends_epoch == (done % steps == 0)
        assert stretch.last == -(-done // steps)
    assert done == steps * epochs


def test_whole_epochs_are_one_call():
    assert len(stretches(0, 5, 3, 0)) == 1
    assert len(stretches(0, 5, 3, 10)) == 2
    assert len(stretches(0, 5, 3, 7)) == 4
