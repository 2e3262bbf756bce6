"""Pictures for figures."""

import numpy as np
import pytest

from keras_attn.viz.panels import figure_pixels, panels
from keras_attn.viz.thumbnail import MOST_ASPECT, small


@pytest.mark.parametrize("size", [(3, 4000), (4000, 3), (1, 1), (90, 1000), (600, 300)])
def test_very_narrow_pictures_are_squashed(size):
    image = small(np.zeros((*size, 3), "uint8"), 160)
    assert max(image.size) <= 160 and max(image.size) <= MOST_ASPECT * min(image.size)
    if size == (600, 300):
        assert image.size == (80, 160)
    width, height = panels(2, 3, 1.1, image)[0].get_size_inches()
    assert width < 4 and height < 10


@pytest.mark.parametrize("side", [70, 2000])
def test_pixels_of_a_figure_stand_in_the_middle_of_a_white_sheet(side):
    figure, axes = panels(1, 1, 1.0, small(np.zeros((30, 10, 3), "uint8"), 30))
    axes[0, 0].imshow(np.zeros((30, 10, 3), "uint8"))
    pixels = figure_pixels(figure, (side, 50))
    assert pixels.shape == (side, 50, 3) and pixels.dtype == np.uint8
    assert pixels[side // 2, 25].max() == 0 and (pixels[0] == 255).all()
