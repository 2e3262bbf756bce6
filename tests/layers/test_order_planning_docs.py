"""The page on order planning and copying runs, and its link matrix learns an order."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mechanisms" / "order_planning.md"


@pytest.mark.systems
def test_the_page_runs():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)
    assert names["history"].history["accuracy"][-1] == 1
    matrix = np.array(names["matrix"])
    assert matrix.shape == (6, 5) and (matrix[:5].argmax(axis=1) == np.arange(5)).all()
    assert names["model"].output_shape[0] == (None, None, 100)
