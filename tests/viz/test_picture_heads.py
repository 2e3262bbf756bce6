"""Pictures of a Vision Transformer's heads: what is lit follows the weights."""

import io

import numpy as np
import pytest
from PIL import Image

from keras_attn.models import VisionTransformer, VisionTransformerConfig
from keras_attn.viz.overlay import overlay
from keras_attn.viz.picture_heads import PictureHeads

PICTURE = np.full((30, 42, 3), 128, np.uint8)


def looking(cell, places):
    """One block with two heads: the first looks at one place always, the second at itself."""
    weights = np.zeros((1, 2, places, places), "float32")
    weights[0, 0, :, cell] = 1
    weights[0, 1] = np.eye(places)
    return weights


def test_maps_and_rollout_of_a_class_token():
    heads = PictureHeads(looking(1 + 2 * 7 + 3, 36), (5, 7))
    maps = heads.maps()
    assert maps.shape == (1, 2, 5, 7) and maps[0, 0, 2, 3] == 1 and maps.sum() == 1
    expected = np.zeros((5, 7))
    expected[2, 3] = 0.25
    np.testing.assert_allclose(heads.rollout(), expected, atol=1e-6)


def test_maps_and_rollout_of_a_mean():
    heads = PictureHeads(looking(2 * 7 + 3, 35), (5, 7))
    maps = heads.maps()
    assert maps[0, 0, 2, 3] == 1
    np.testing.assert_allclose(maps[0, 1], 1 / 35, atol=1e-6)
    rollout = heads.rollout()
    assert rollout.argmax() == 2 * 7 + 3
    np.testing.assert_allclose(rollout.sum(), 1, atol=1e-5)


def test_of_a_model_and_a_row():
    encoder = VisionTransformer(VisionTransformerConfig((15, 21), 3, 2, 10, 13, 2))
    images = np.random.default_rng(3).integers(0, 256, (3, 15, 21, 3), np.uint8)
    _, weights = encoder.pool(images)
    heads = PictureHeads.of(weights, (5, 7), row=2)
    np.testing.assert_array_equal(heads.weights[1], weights[1][2])
    alone = PictureHeads.of(encoder.pool(images[2:])[1], (5, 7))
    np.testing.assert_allclose(heads.rollout(), alone.rollout(), atol=1e-6)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_colors_are_where_it_looked_on_dark_and_light(level):
    field = np.zeros((5, 7))
    field[2, 3] = 0.1
    shown = overlay(Image.fromarray(np.full((30, 42, 3), level, "uint8")), field)
    assert shown.shape == (30, 42, 3)
    colored = np.ptp(shown, axis=-1)
    assert colored[15, 21] > 0.4 and colored[2, 2] < 0.01 and colored[27, 39] < 0.01
    assert 0.1 < shown[2, 2, 0] < 0.85


def test_figures_have_a_panel_for_each_head():
    heads = PictureHeads(looking(18, 36), (5, 7))
    figure = heads.heads_figure(PICTURE)
    assert [axis.get_title() for axis in figure.axes] == ["head 1", "head 2", ""]
    assert figure.axes[-1].get_ylabel().startswith("attention")
    lit = figure.axes[0].images[0].get_array()
    assert lit.shape == (30, 42, 3) and np.ptp(lit[15, 21]) > np.ptp(lit[2, 2])
    before, after, _ = heads.rollout_figure(PICTURE).axes
    np.testing.assert_array_equal(before.images[0].get_array(), PICTURE)
    data = io.BytesIO()
    after.figure.savefig(data, format="png")
    assert data.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("shape", [(1, 2, 34, 34), (1, 2, 36, 35), (2, 36, 36), (0, 2, 36, 36)])
def test_weights_that_do_not_fit(shape):
    message = rf"S >= 35 for a grid of \(5, 7\)\. Received: weights of shape \({shape[0]}, "
    with pytest.raises(ValueError, match=message):
        PictureHeads(np.zeros(shape), (5, 7))
