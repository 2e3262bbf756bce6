"""Attention by fused kernels equals attention by scores, softmax and sum."""

import pytest

from tests.backends import OTHERS
from tests.processes import run_module


@pytest.mark.slow
@pytest.mark.parametrize("backend", OTHERS)
def test_fused_kernels(backend):
    run_module("tests.conformance.fused", backend=backend)
