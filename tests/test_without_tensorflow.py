"""keras-attn where TensorFlow, or any backend at all, is missing."""

import subprocess
import sys

import pytest

from tests.processes import ROOT, run_module

TENSORFLOW = "tensorflow,tensorflow_text"


@pytest.mark.systems
@pytest.mark.parametrize("backend", ["jax", pytest.param("torch", marks=pytest.mark.slow)])
def test_all_but_graphs(backend, tmp_path):
    pytest.importorskip(backend)
    run_module("tests.missing", TENSORFLOW, "tests.without_tensorflow", tmp_path, backend=backend)


def test_the_command_line_says_what_to_install(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"picture")
    command = [sys.executable, "-m", "tests.missing", TENSORFLOW, "keras_attn_pipelines"]
    command += ["predict", "saved_models/flickr8k_captioner", str(tmp_path / "a.jpg")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and "Expected the packages of pip install 'keras-attn[" in line


def test_without_a_backend_it_says_what_to_install():
    code = "import keras_attn; print(keras_attn.__version__)"
    hidden = f"from tests.missing import hide; hide({[*TENSORFLOW.split(','), 'jax', 'torch']})"
    command = [sys.executable, "-c", f"{hidden}; {code}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "pip install 'keras-attn[tensorflow]' or" in done.stderr and done.stdout
