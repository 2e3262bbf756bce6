"""How XLA compiles the training steps of the command line: quickly, and once on each machine.

Only for TensorFlow and JAX on a processor: a machine with an accelerator, and what the user has
set, are left as they are.
"""

import contextlib
import hashlib
import os
import stat
import string
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from keras_attn.whole_file import digest_of, locked, whole_file
from keras_attn_pipelines.data.user_cache import user_cache

FAST = "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false "
FAST += "--xla_cpu_parallel_codegen_split_count=1"
"""XLA_FLAGS with which a step is compiled in a third of the time, and is as fast."""
KNOWN = ("tensorflow 2.21.", "jax 0.10.")
"""Prefixes of versions that know these flags: others would end the process."""
CACHES = {
    "tensorflow": ("TF_XLA_FLAGS", "--tf_xla_persistent_cache_directory="),
    "jax": ("JAX_COMPILATION_CACHE_DIR", ""),
}
"""By backend, the environment variable that says where compiled steps are, and its prefix."""
MOST_BYTES = 256 * 2**20
"""Of compiled steps that are kept; the oldest go first."""
ENTRIES, DIGEST = ("xla_compile_cache__*.pb", "*-cache"), ".sha256"
PROCESSOR = ("model name", "flags", "Features")
"""Prefixes of lines of /proc/cpuinfo that say what a processor can do."""
SHARED = stat.S_IWGRP | stat.S_IWOTH
DEVICES = ("nvidia[0-9]*", "kfd", "accel[0-9]*")
"""Files in /dev of GPUs and TPUs."""


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Context in which the backend compiles quickly and keeps the result, unless it was imported
    before.

    Compiled steps are programs for this processor in the user's cache folder, where only the user
    can write. Incomplete and damaged ones are removed first, for TensorFlow would not train. Of
    several trainings at a time, one keeps its steps.
    """
    backend = os.environ.get("KERAS_BACKEND") or "tensorflow"
    version = _version(backend) if backend in CACHES else ""
    if backend in sys.modules or not version or _has_accelerator():
        yield
        return
    variable, before = CACHES[backend]
    flags = {"XLA_FLAGS": fast_flags(backend)}
    with _environment(flags), contextlib.ExitStack() as stack:
        if variable not in os.environ and (folder := _folder(version)):
            with contextlib.suppress(OSError, ValueError):
                stack.enter_context(locked(folder, wait=False))
                remove_unusable(folder)
                stack.callback(seal, folder)
                stack.enter_context(_environment({variable: f"{before}{folder}"}))
        yield


def fast_flags(backend: str) -> str:
    """XLA_FLAGS with which the installed backend compiles quickly; empty where none are known."""
    return FAST if _version(backend).startswith(KNOWN) else ""


@contextlib.contextmanager
def _environment(values):
    """Context with environment variables, but for empty ones and those that are set outside."""
    added = {name: value for name, value in values.items() if value and name not in os.environ}
    os.environ |= added
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def remove_unusable(folder: Path) -> None:
    """Removes compiled steps without their digest, and the oldest where there are too many."""
    entries = sorted(_entries(folder), key=lambda path: path.stat().st_mtime, reverse=True)
    total = 0
    for entry in entries:
        total += entry.stat().st_size
        digest = _digest(entry)
        is_whole = digest.is_file() and digest.read_text() == digest_of(entry)
        if total > MOST_BYTES or not is_whole:
            digest.unlink(missing_ok=True)
            entry.unlink(missing_ok=True)


def seal(folder: Path) -> None:
    """Writes the digest of each compiled step that has none."""
    with contextlib.suppress(OSError):
        for entry in _entries(folder):
            if not (digest := _digest(entry)).is_file():
                with whole_file(digest) as partial:
                    partial.write_text(digest_of(entry))


def _entries(folder):
    return (path for pattern in ENTRIES for path in folder.glob(pattern))


def _digest(entry):
    return entry.with_name(f"{entry.name}{DIGEST}")


def _folder(version):
    """The folder for this processor, backend and flags; None where it cannot be used.

    TensorFlow compares computations alone, and would run those of another processor.
    """
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = sorted({line for line in lines if line.startswith(PROCESSOR)})
        key = "\n".join([version, os.environ.get("XLA_FLAGS", ""), *processor])
        folder = user_cache() / "compiled" / hashlib.sha256(key.encode()).hexdigest()[:16]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        is_own = status.st_uid == os.getuid() and not status.st_mode & SHARED
        if processor and is_own and not set(str(folder)) & set(string.whitespace):
            return folder
    return None


def _version(backend):
    with contextlib.suppress(metadata.PackageNotFoundError):
        return f"{backend} {metadata.version(backend)}"
    return ""


def _has_accelerator():
    return any(path for pattern in DEVICES for path in Path("/dev").glob(pattern))
