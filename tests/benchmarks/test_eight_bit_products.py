"""The benchmark of products in 8 bits runs: its tables have their rows, and its kinds agree."""

import numpy as np
import pytest

from benchmarks import eight_bit_products
from benchmarks.eight_bit_products import KINDS, by_shape, of_a_step
from keras_attn.serving import eight_bits
from keras_attn.serving.eight_bits import products_of
from tests.benchmarks.test_benchmarks import cells

pytestmark = pytest.mark.systems


def test_tables(monkeypatch):
    monkeypatch.setattr(eight_bits, "SECONDS", 0.0)
    sizes = {"SHAPES": ((11, 7),), "STEP": ((11, 7), (7, 11)), "ROWS": (1, 3), "MOST": 2}
    for name, value in sizes.items():
        monkeypatch.setattr(eight_bit_products, name, value)
    products = cells(by_shape(1))
    assert [row[:2] for row in products] == [["11→7", "1"], ["11→7", "3"]]
    assert all(row[2].endswith("(1.00)") and row[-1].endswith("%") for row in products)
    step = cells(of_a_step(1))
    assert [row[0] for row in step] == ["1", "3"] and len(step[0]) == 1 + len(KINDS)


def test_kinds_agree():
    random = np.random.default_rng(3)
    matrix, rows = (random.normal(size=shape).astype("float32") for shape in ((211, 7), (3, 211)))
    exact = rows @ matrix
    for name, kind in KINDS.items():
        product = products_of([kind(matrix)])(rows)[0][:, :7]
        error = np.linalg.norm(product - exact) / np.linalg.norm(exact)
        assert error < (1e-6 if name == "float32" else 0.03), name
