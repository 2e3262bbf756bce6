"""Pictures of heads over time."""

import numpy as np
import pytest

from keras_attn.viz.head_tracks import MOST_LABELS, head_tracks_figure


def walk(steps, slots, start):
    return np.eye(slots)[start + np.arange(steps)][:, None]


def test_a_panel_for_each_head_and_only_used_slots():
    write, read = walk(5, 13, 2), np.concatenate([walk(5, 13, 3), walk(5, 13, 4)], axis=1)
    figure = head_tracks_figure(write, read, ["01", "10", "</s>", "01", "10"], 3)
    axes = figure.axes[:3]
    assert [axis.get_title() for axis in axes] == ["write", "read, head 1", "read, head 2"]
    shown = axes[0].images[0].get_array()
    np.testing.assert_array_equal(shown, write[:, 0, 2:9].T)
    assert axes[0].images[0].get_extent() == [-0.5, 4.5, 8.5, 1.5]
    assert axes[0].lines[0].get_xdata() == [2.5, 2.5]
    assert [label.get_text() for label in axes[2].get_xticklabels()][2:4] == ["</s>", "01"]


def test_many_steps_have_no_labels():
    steps = MOST_LABELS + 1
    tracks = np.zeros((steps, 1, 3))
    figure = head_tracks_figure(tracks, tracks, ["0"] * steps, 7)
    assert figure.axes[1].get_xlabel() == "step"
    assert figure.axes[0].images[0].get_array().shape == (3, steps)


def test_shapes_that_do_not_match():
    with pytest.raises(ValueError, match=r"Expected weights \(T, H, N\) for 2 steps"):
        head_tracks_figure(walk(3, 5, 0), walk(3, 5, 0), ["0", "1"], 1)
