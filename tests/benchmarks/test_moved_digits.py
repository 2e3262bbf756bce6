"""The comparison of networks on moved digits runs, on a few pictures."""

import numpy as np
import pytest
from PIL import Image

from benchmarks import moved_digits
from keras_attn_pipelines.runs.run import Run
from tests.benchmarks.test_benchmarks import cells


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A file with as many digits as a few small folders need."""
    random, arrays = np.random.default_rng(1), {}
    for split in ("train", "test"):
        labels = np.tile(moved_digits.CLASSES, 7)
        arrays |= {
            f"x_{split}": random.integers(1, 256, (len(labels), 28, 28)).astype("uint8"),
            f"y_{split}": labels,
        }
    np.savez(tmp_path / "mnist.npz", **arrays)
    monkeypatch.setattr(moved_digits, "COUNTS", {"train": 5, "dev": 2, "test": 3})
    monkeypatch.setattr(moved_digits, "DEV_BEGINS", 7)
    return tmp_path / "mnist.npz"


def test_digits_are_written_once(digits, tmp_path):
    folder = moved_digits.write_digits(digits, tmp_path / "digits")
    pictures = sorted(folder.rglob("*.png"))
    assert len(pictures) == 4 * (5 + 2 + 3)
    with Image.open(pictures[0]) as picture:
        assert picture.size == (64, 64) and np.count_nonzero(picture) > 28 * 28 / 2
    before = pictures[0].read_bytes()
    assert moved_digits.write_digits(digits, tmp_path / "digits") == folder
    assert pictures[0].read_bytes() == before


def test_a_window_has_the_digit_in_its_middle_and_upright(monkeypatch):
    monkeypatch.setattr(moved_digits, "PIECES", 0)
    digit = np.zeros((28, 28), "uint8")
    digit[3:25, 12:16] = 255  # Upright, and not as wide as high.
    moved = moved_digits._moved(digit, None, np.random.default_rng(3))
    assert abs(moved.angle) > 29
    placed, upright = (
        np.asarray(moved_digits._seen(moved, name), float)
        for name in (moved_digits.PLACED, moved_digits.UPRIGHT)
    )
    assert placed.shape == upright.shape == (38, 38)
    expected = np.pad(digit, 5)
    near, far = (np.abs(window - expected).mean() for window in (upright, placed))
    assert near < 4 and far > 5 * near


@pytest.mark.slow
def test_networks_are_compared(digits, tmp_path):
    first = moved_digits.compare(digits, tmp_path / "out", seeds=1, epochs=1)
    assert [row[0] for row in cells(first)] == list(moved_digits.NETWORKS)
    assert moved_digits.compare(digits, tmp_path / "out", seeds=1, epochs=1) == first
    larger = digits, tmp_path / "large", 1, 1, [moved_digits.RECIPE], 37
    assert [row[0] for row in cells(moved_digits.compare(*larger))] == [moved_digits.RECIPE]
    run = Run(tmp_path / "large" / "5-0" / "run")
    assert run.experiment().values()["image_size"] == 37
