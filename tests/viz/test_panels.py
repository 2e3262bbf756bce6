"""Pictures for figures."""

import numpy as np
import pytest

from keras_attn.viz.panels import MOST_ASPECT, panels, small


@pytest.mark.parametrize("size", [(3, 4000), (4000, 3), (1, 1), (90, 1000), (600, 300)])
def test_very_narrow_pictures_are_squashed(size):
    image = small(np.zeros((*size, 3), "uint8"), 160)
    assert max(image.size) <= 160 and max(image.size) <= MOST_ASPECT * min(image.size)
    if size == (600, 300):
        assert image.size == (80, 160)
    width, height = panels(2, 3, 1.1, image)[0].get_size_inches()
    assert width < 4 and height < 10
