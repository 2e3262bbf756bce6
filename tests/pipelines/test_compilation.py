"""Compiled training steps: which are kept, and which processes use them."""

import os
import subprocess
import sys

import pytest

from keras_attn.whole_file import locked
from keras_attn_pipelines import compilation
from keras_attn_pipelines.compilation import compiling, remove_unusable, seal
from tests.processes import ROOT

VARIABLES = ("XLA_FLAGS", "TF_XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR")


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """A processor, nothing set or imported; the path of the user's cache."""
    for backend in ("tensorflow", "jax"):
        monkeypatch.delitem(sys.modules, backend, raising=False)
    monkeypatch.setattr(compilation, "_has_accelerator", lambda: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in (*VARIABLES, "KERAS_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def written(folder, name, content=b"program"):
    path = folder / f"xla_compile_cache__{name}.pb"
    path.write_bytes(content)
    return path


def test_only_whole_programs_are_kept(tmp_path):
    whole, damaged = written(tmp_path, "3"), written(tmp_path, "5")
    other = tmp_path / "notes"
    other.write_text("mine")
    seal(tmp_path)
    damaged.write_bytes(b"progra")
    killed = written(tmp_path, "7")
    remove_unusable(tmp_path)
    assert whole.read_bytes() == b"program" and not damaged.exists() and not killed.exists()
    assert {path.name for path in tmp_path.iterdir()} == {
        whole.name,
        f"{whole.name}.sha256",
        "notes",
    }


def test_the_oldest_programs_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, "MOST_BYTES", 16)
    programs = [written(tmp_path, name) for name in ("3", "5", "7")]
    seal(tmp_path)
    for age, program in enumerate(programs):
        os.utime(program, (1000 - age, 1000 - age))
    remove_unusable(tmp_path)
    assert [program.exists() for program in programs] == [True, True, False]


def test_a_training_has_the_cache_of_its_processor_to_itself(processor):
    with compiling():
        _, folder = os.environ["TF_XLA_FLAGS"].split("=")
        assert folder.startswith(str(processor)) and os.stat(folder).st_mode & 0o777 == 0o700
        del os.environ["TF_XLA_FLAGS"]
        with compiling():
            assert "TF_XLA_FLAGS" not in os.environ
        os.environ["TF_XLA_FLAGS"] = ""
    assert not {"XLA_FLAGS", "TF_XLA_FLAGS"} & set(os.environ)
    with locked(folder, wait=False), compiling():
        assert "TF_XLA_FLAGS" not in os.environ
    os.chmod(folder, 0o770)  # Others could put programs there.
    with compiling():
        assert "TF_XLA_FLAGS" not in os.environ


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_what_the_user_has_set_is_left_as_it_is(processor, monkeypatch, backend):
    for name in VARIABLES:
        monkeypatch.setenv(name, f"--{name}=1")
    monkeypatch.setenv("KERAS_BACKEND", backend)
    with compiling():
        assert all(os.environ[name] == f"--{name}=1" for name in VARIABLES)


@pytest.mark.parametrize(
    ("version", "variables"),
    [
        ("jax 0.10.2", {"JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS"}),
        ("jax 0.7.0", {"JAX_COMPILATION_CACHE_DIR"}),
        ("tensorflow 2.21.0", {"TF_XLA_FLAGS", "XLA_FLAGS"}),
        ("tensorflow 2.22.0", {"TF_XLA_FLAGS"}),
        ("torch 2.13.0", set()),
        ("openvino 2026.1", set()),
        ("", set()),
    ],
)
def test_each_version_has_variables_that_it_knows(processor, monkeypatch, version, variables):
    monkeypatch.setattr(compilation, "_version", lambda backend: version)
    monkeypatch.setenv("KERAS_BACKEND", version.partition(" ")[0])
    with compiling():
        assert set(VARIABLES) & set(os.environ) == variables


def test_an_accelerator_is_left_as_it_is(processor, monkeypatch):
    monkeypatch.setattr(compilation, "_has_accelerator", lambda: True)
    with compiling():
        assert not set(VARIABLES) & set(os.environ)


PROGRAMS = {
    "tensorflow": """
import tensorflow as tf

@tf.function(jit_compile=True)
def doubled(values):
    return 2 * tf.sort(values)

answer = doubled(tf.constant([3.0, 2.0]))
""",
    "jax": """
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
answer = jax.jit(lambda values: 2 * jax.numpy.sort(values))(jax.numpy.array([3.0, 2.0]))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("backend", PROGRAMS)
def test_another_process_finds_what_was_compiled(processor, monkeypatch, backend):
    """The backend knows the flags, or it would end the process, and writes and reads programs."""
    monkeypatch.setenv("KERAS_BACKEND", backend)
    program = f"""
from keras_attn_pipelines.compilation import compiling
with compiling():
    exec({PROGRAMS[backend]!r})
    print([float(value) for value in answer])
"""

    def programs():
        paths = (path for pattern in compilation.ENTRIES for path in processor.rglob(pattern))
        return {path: path.stat().st_mtime_ns for path in paths}

    def answer():
        command = [sys.executable, "-c", program]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    assert answer().stdout == b"[4.0, 6.0]\n"
    stored = programs()
    again = answer()
    assert stored and again.stdout == b"[4.0, 6.0]\n" and programs() == stored
    for path in stored:
        path.write_bytes(path.read_bytes()[:-100])
    again = answer()
    assert again.stdout == b"[4.0, 6.0]\n" and programs().keys() == stored.keys()
    assert b"Error reading" not in again.stderr
