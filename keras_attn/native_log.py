"""Messages of native libraries: TensorFlow, CUDA and SentencePiece write some on every use."""

import contextlib
import importlib.abc
import importlib.util
import logging
import os
import sys
import threading

NATIVE_LOG = "KERAS_ATTN_NATIVE_LOG"
"""Environment variable that lets native libraries write to standard error."""
LEVEL = "TF_CPP_MIN_LOG_LEVEL"
"""TensorFlow's; where it is set, the user has decided."""
_LOUD = ("tensorflow", "tensorflow_text")
"""Packages that write while they are imported, whatever the level."""
_lock = threading.Lock()
_depth, _terminal = 0, -1


def quiet_imports() -> None:
    """Keeps TensorFlow quiet from its import on, unless the user has asked for its messages.

    A package that has been imported before is left as it is, and so is the level of the logger
    `tensorflow`, if it has one.
    """
    if hides_native_log():
        loud = [name for name in _LOUD if name not in sys.modules]
        sys.meta_path[:0] = [_QuietImport(name) for name in loud]


def hides_native_log() -> bool:
    """Whether messages are hidden: neither environment variable asks for them."""
    return not os.environ.get(NATIVE_LOG) and LEVEL not in os.environ


@contextlib.contextmanager
def hidden_native_log():
    """Context in which what the process writes to the file descriptor of standard error is lost,
    unless the user has asked for it; for calls of native code alone."""
    if not hides_native_log():
        yield
        return
    _redirect(1)
    try:
        yield
    finally:
        _redirect(-1)


@contextlib.contextmanager
def _level(level):
    """Context with another level of TensorFlow, which reads it once."""
    os.environ[LEVEL] = level
    try:
        yield
    finally:
        del os.environ[LEVEL]


def _redirect(change):
    """Enters or leaves a context; the first of all threads redirects, the last one restores."""
    global _depth, _terminal
    with _lock, contextlib.suppress(OSError):  # A process may have no standard error.
        _depth += change
        if (change, _depth) == (1, 1):
            _terminal = os.dup(2)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
        elif _depth == 0 and _terminal >= 0:
            os.dup2(_terminal, 2)
            os.close(_terminal)
            _terminal = -1


class _QuietImport(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one package as it would be found, and imports it quietly."""

    def __init__(self, name):
        self.name, self.looks = name, False

    def find_spec(self, name, path=None, target=None):
        if name != self.name or self.looks:
            return None
        self.looks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looks = False
        if spec is not None:
            self.loader, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        sys.meta_path.remove(self)
        module.__spec__.loader = module.__loader__ = self.loader
        logger = logging.getLogger("tensorflow")
        is_set = logger.level != logging.NOTSET
        level = _level("3") if hides_native_log() else contextlib.nullcontext()
        with hidden_native_log(), level:  # An error that matters is raised as well.
            self.loader.exec_module(module)
        if not is_set:
            logger.setLevel(logging.ERROR)
