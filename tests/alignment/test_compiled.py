"""Compiled loops, where they cannot be kept on disk, and without numba."""

import importlib.util
import sys

import pytest

from keras_attn.alignment.compiled import compiled


def test_a_function_without_a_file_is_compiled_too():
    names = {}
    exec("def twice(number): return 2 * number", names)
    assert compiled(names["twice"])(3) == 6


def test_damaged_machine_code_is_made_again(tmp_path):
    file = tmp_path / "doubling.py"
    file.write_text("def twice(number):\n    return 2 * number\n")
    spec = importlib.util.spec_from_file_location("doubling", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert compiled(module.twice)(3) == 6
    (index,) = tmp_path.rglob("*.nbi")
    for damaged in (b"", index.read_bytes()[:50]):
        index.write_bytes(damaged)
        assert compiled(module.twice)(3) == 6


def test_numba_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r"keras-attn\[alignment\].* numba"):
        compiled(len)([1])
