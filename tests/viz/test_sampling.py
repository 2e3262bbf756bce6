import io

import numpy as np
import pytest
from PIL import Image

from keras_attn.ops.sample import sample
from keras_attn.ops.sampling_grids import affine_grid, target_points, thin_plate_spline_grid
from keras_attn.viz.sampling import film, pixels, sampling_figure

RANDOM = np.random.default_rng(19)
IMAGES = RANDOM.uniform(size=(2, 11, 13, 1)).astype("float32")


def half(align_corners=False):
    theta = np.array([[[0.5, 0, 0], [0, 0.5, 0]]] * 2, "float32")
    grid = np.asarray(affine_grid(theta, target_points(5, 7, align_corners)))
    return grid, np.asarray(sample(IMAGES, grid, align_corners=align_corners))


@pytest.mark.parametrize("align_corners", [False, True])
def test_the_frame_is_drawn_where_the_outermost_points_are_read(align_corners):
    grid, outputs = half(align_corners)
    figure = sampling_figure(IMAGES, grid, outputs, align_corners, "half")
    axis = figure.axes[0]
    lines = [line for line in axis.lines if line.get_linewidth() == 2.0]
    assert len(lines) == 4 and len(axis.lines) == 5 + 7
    drawn = np.concatenate([line.get_xydata() for line in lines])
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    share = 0.5 if align_corners else np.array([0.5 * 6 / 7, 0.5 * 4 / 5])
    extent = (np.array([12, 10]) if align_corners else np.array([13, 11])) / 2
    np.testing.assert_allclose(low, np.array([6, 5]) - share * extent, atol=1e-4)
    np.testing.assert_allclose(high, np.array([6, 5]) + share * extent, atol=1e-4)


def test_colors_splines_and_a_film():
    control = target_points(2, 2, align_corners=True).reshape(-1, 2)
    images = RANDOM.uniform(size=(1, 11, 13, 3)).astype("float32")
    frames = []
    for amount in (0.0, 0.3, 0.6):
        theta = control[None] + amount * np.array([[0.5, 0.2]], "float32")
        grid = thin_plate_spline_grid(theta, control, target_points(9, 9))
        frames.append(pixels(sampling_figure(images, grid, sample(images, grid))))
    with Image.open(io.BytesIO(film(frames, 100))) as animation:
        assert (animation.format, animation.n_frames, animation.info["loop"]) == ("GIF", 3, 0)
        durations = []
        for place in range(3):
            animation.seek(place)
            durations.append(animation.info["duration"])
    assert durations == [100, 100, 500]


def test_pairs_in_rows():
    grid, outputs = half()
    images, grids, outputs = (
        np.concatenate([array, array])[:3] for array in (IMAGES, grid, outputs)
    )
    figure = sampling_figure(images, grids, outputs, columns=2, margin=0.25)
    assert len(figure.axes) == 8 and [len(axis.images) for axis in figure.axes] == [1] * 6 + [0] * 2
    titled = [axis.get_title() for axis in figure.axes]
    assert titled == 2 * ["what is read", "what comes out"] + 4 * [""]
    assert figure.axes[4].get_xlim() == (-0.5 - 0.25 * 13 / 2, 12.5 + 0.25 * 13 / 2)


def test_pictures_of_one_shade_and_places_that_are_none():
    grid, _ = half()
    gray = np.full((2, 11, 13, 3), 128, "uint8")
    out = np.full((2, 5, 7, 3), 128, "uint8")
    figure = sampling_figure(gray, np.full_like(grid, np.nan), out, title="$5 _ to $10 \\frac 猫")
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), 128 / 255, atol=1e-6)
    pixels(figure)
    figure = sampling_figure(gray / 255.0, grid, out / 255.0)
    assert np.isfinite(figure.axes[1].images[0].get_array()).all()


def test_bad_arguments():
    grid, outputs = half()
    for wrong in (
        (IMAGES[:1], grid, outputs),
        (IMAGES, grid[..., :1], outputs),
        (IMAGES[0], grid, outputs),
    ):
        with pytest.raises(ValueError, match="Expected images"):
            sampling_figure(*wrong)
    for wrong in ({"columns": 0}, {"columns": 1.5}, {"margin": -0.1}, {"margin": float("nan")}):
        with pytest.raises(ValueError, match=f"Expected (a |an int )?{next(iter(wrong))}"):
            sampling_figure(IMAGES, grid, outputs, **wrong)
    with pytest.raises(ValueError, match=r"frames of one size. Received: .*\(2, 3, 3\)"):
        film([np.zeros((2, 3, 3), "uint8"), np.zeros((3, 3, 3), "uint8")])
    with pytest.raises(ValueError, match=r"Expected frames of one size\. Received: none"):
        film([])
