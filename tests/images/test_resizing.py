"""Pictures of another size, beside Pillow and the picture processors of transformers."""

import glob
import resource
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_attn.images.picture_format import PictureFormat

PHOTOGRAPHS = Path(__file__).parents[3] / "shared" / "data" / "coco-mini-ccby" / "images"


def noise(height, width):
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), "uint8")


def pillow(pixels, whole, corner, size, resample):
    """Resized, then cropped; sizes and corner as (height, width)."""
    resized = np.asarray(Image.fromarray(pixels).resize(whole[::-1], resample))
    (top, left), (height, width) = corner, size
    return resized[top : top + height, left : left + width].astype(int)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize(
    ("fit", "edge", "whole", "corner"),
    [
        ("squash", None, (11, 13), (0, 0)),
        ("squash", 17, (17, 20), (3, 3)),
        ("shortest_edge", None, (13, 18), (1, 2)),
        ("shortest_edge", 19, (19, 27), (4, 7)),
        ("shortest_edge", 71, (71, 101), (30, 44)),
    ],
)
def test_as_pillow_resizes_and_cuts_out(interpolation, fit, edge, whole, corner):
    """Noise is the hardest: bicubic interpolation leaves 0..255 at most pixels."""
    pixels = noise(37, 53)
    picture_format = PictureFormat(11, 13, fit, interpolation=interpolation, resized_edge=edge)
    expected = pillow(pixels, whole, corner, (11, 13), Image.Resampling[interpolation.upper()])
    differences = np.abs(picture_format.resize(tf.constant(pixels)).numpy() - expected)
    assert differences.max() <= 1
    assert interpolation == "bilinear" or (differences > 0).mean() < 0.02


def test_a_very_tall_picture_is_resized_along_its_columns_first():
    pixels = noise(1700, 2)
    expected = pillow(pixels.transpose(1, 0, 2), (11, 13), (0, 0), (11, 13), Image.BICUBIC)
    tall = PictureFormat(13, 11, interpolation="bicubic").resize(tf.constant(pixels)).numpy()
    assert np.abs(tall.transpose(1, 0, 2) - expected).max() <= 1


def test_what_is_as_large_as_it_should_be_is_unchanged():
    pixels = noise(17, 17)
    for fit in ("squash", "crop", "shortest_edge"):
        part = PictureFormat(11, 11, fit, resized_edge=17).resize(tf.constant(pixels))
        np.testing.assert_array_equal(part, pixels[3:14, 3:14])


def test_a_very_wide_picture_takes_no_more_memory_than_it_has():
    """Along its columns first, there would be 224 rows of 700,000 columns in between."""
    pixels = noise(1, 700_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wide = PictureFormat(224, 13).resize(tf.constant(pixels)).numpy()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000  # KiB
    tall = PictureFormat(13, 224).resize(tf.constant(pixels.transpose(1, 0, 2))).numpy()
    np.testing.assert_array_equal(wide, tall.transpose(1, 0, 2))
    wide = noise(5, 113)
    expected = pillow(wide, (13, 11), (0, 0), (13, 11), Image.Resampling.BILINEAR)
    assert np.abs(PictureFormat(13, 11).resize(tf.constant(wide)).numpy() - expected).max() <= 1


def test_the_default_is_bilinear_as_in_earlier_versions():
    pixels = tf.constant(noise(37, 53))
    expected = tf.image.resize(pixels, (11, 13), method="bilinear", antialias=True)
    expected = tf.cast(tf.round(expected), tf.uint8)
    np.testing.assert_array_equal(PictureFormat(11, 13).resize(pixels), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interpolation": "lanczos"}, "interpolation of .*bilinear.*bicubic.*Received: 'lanczos'"),
        ({"resized_edge": 4}, "resized_edge >= 5 for 5x7 by squash. Received: 4"),
        ({"fit": "shortest_edge", "resized_edge": 6}, ">= 7 for 5x7 by shortest_edge. Received: 6"),
    ],
)
def test_bad_formats(options, message):
    with pytest.raises(ValueError, match=message):
        PictureFormat(5, 7, **options)


def photographs():
    paths = sorted(glob.glob(str(PHOTOGRAPHS / "*")))[:20]
    if not paths:
        pytest.skip(f"no photographs in {PHOTOGRAPHS}")
    return [Image.open(path).convert("RGB") for path in paths]


@pytest.mark.systems
@pytest.mark.parametrize(
    ("name", "options", "picture_format"),
    [
        ("clip", {}, PictureFormat(224, 224, "shortest_edge", interpolation="bicubic")),
        ("siglip", {}, PictureFormat(224, 224, interpolation="bicubic")),
        ("deit", {}, PictureFormat(224, 224, interpolation="bicubic", resized_edge=256)),
        (
            "clip",
            {"size": {"shortest_edge": 256}},
            PictureFormat(224, 224, "shortest_edge", interpolation="bicubic", resized_edge=256),
        ),
        ("siglip", {"resample": 2}, PictureFormat(224, 224)),
    ],
)
def test_photographs_as_the_processors_of_transformers_see_them(name, options, picture_format):
    transformers = pytest.importorskip("transformers")
    kinds = {
        "clip": transformers.CLIPImageProcessorPil,
        "siglip": transformers.SiglipImageProcessorPil,
        "deit": transformers.DeiTImageProcessorPil,
    }
    processor = kinds[name](do_rescale=False, do_normalize=False, **options)
    differences = []
    for photograph in photographs():
        expected = processor(photograph, return_tensors="np")["pixel_values"][0]
        pixels = picture_format.resize(tf.constant(np.asarray(photograph))).numpy()
        differences.append(np.abs(pixels.transpose(2, 0, 1) - expected.astype(int)))
    levels = np.bincount(np.ravel(differences), minlength=3) / np.size(differences)
    assert len(levels) == 3 and levels[2] < 1e-4
    assert picture_format.interpolation == "bilinear" or levels[1] < 0.005
