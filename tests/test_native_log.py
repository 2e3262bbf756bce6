"""What native libraries write on use, in processes of their own, since they are imported once."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_attn import native_log
from keras_attn.native_log import hidden_native_log, quiet_imports

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import logging, os, sys
import keras_attn
if sys.argv[1:]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
captioner = keras_attn.load("saved_models/flickr8k_captioner")
print(captioner.predict([b"no picture"])[0].error != "", file=sys.stderr)
import numpy as np
assert captioner.predict([np.zeros((2, 3, 3), "uint8")])[0].text
from keras_attn.text import Tokenizer
Tokenizer.learn(["a red circle"], 300).encode(["a"])
print(logging.getLogger("tensorflow").level, os.environ.get("TF_CPP_MIN_LOG_LEVEL"))
"""
TERMS = "Terms of use of flickr8k_captioner"


def run(*arguments, **variables):
    hidden = ("TF_CPP_MIN_LOG_LEVEL", "KERAS_ATTN_NATIVE_LOG")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= variables
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr.splitlines()


@pytest.mark.systems
def test_python_is_quiet():
    (level, variable), lines = run()
    assert (level, variable) == ("40", "None")
    assert lines[0].startswith(TERMS) and lines[1:] == ["True"]


@pytest.mark.systems
@pytest.mark.parametrize("arguments", [[], pytest.param(["level"], marks=pytest.mark.slow)])
def test_native_libraries_write_if_asked_to(arguments):
    _, lines = run(*arguments, **({} if arguments else {"KERAS_ATTN_NATIVE_LOG": "1"}))
    assert any("normalizer.cc" in line for line in lines)


@pytest.fixture
def unasked(monkeypatch):
    for name in (native_log.LEVEL, native_log.NATIVE_LOG):
        monkeypatch.delenv(name, raising=False)


def test_standard_error_comes_back_with_the_last_context(unasked, capfd):
    with hidden_native_log():
        with hidden_native_log():
            os.write(2, b"inner")
        os.write(2, b"outer")
    os.write(2, b"behind")
    assert capfd.readouterr().err == "behind"


@pytest.mark.parametrize("variable", ["TF_CPP_MIN_LOG_LEVEL", "KERAS_ATTN_NATIVE_LOG"])
def test_the_user_decides(variable, unasked, monkeypatch, capfd):
    monkeypatch.setenv(variable, "1")
    with hidden_native_log():
        os.write(2, b"asked for")
    assert capfd.readouterr().err == "asked for"


def test_a_loud_package_is_imported_quietly(unasked, monkeypatch, tmp_path, capfd):
    (tmp_path / "loud_package.py").write_text(
        "import os\nlevel = os.environ['TF_CPP_MIN_LOG_LEVEL']\nos.write(2, b'oneDNN')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(native_log, "_LOUD", ("loud_package",))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before = len(sys.meta_path)
    quiet_imports()
    assert importlib.util.find_spec("loud_package")  # To look where it is, is not to import it.
    import loud_package

    assert loud_package.level == "3" and native_log.LEVEL not in os.environ
    assert loud_package.__spec__.loader.get_source("loud_package")
    assert capfd.readouterr().err == "" and len(sys.meta_path) == before
    del sys.modules["loud_package"]
