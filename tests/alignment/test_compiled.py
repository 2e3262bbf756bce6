"""Compiled loops, where they cannot be kept on disk, and without numba."""

import sys

import pytest

from keras_attn.alignment.compiled import compiled


def test_a_function_without_a_file_is_compiled_too():
    names = {}
    exec("def twice(number): return 2 * number", names)
    assert compiled(names["twice"])(3) == 6


def test_numba_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r"Expected numba .*keras-attn\[alignment\]"):
        compiled(len)
