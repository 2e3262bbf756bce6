"""The process around the command line: a quiet standard error."""

import contextlib
import faulthandler
import logging
import os
import signal
import sys
import tempfile

NATIVE_LOG = "KERAS_ATTN_NATIVE_LOG"
"""Environment variable that lets native libraries write to the terminal."""


def run(main) -> None:
    """Runs a command line and exits with its code, without the messages of native libraries.

    TensorFlow, CUDA and SentencePiece write to the file descriptor of standard error. It leads to a
    temporary file from here on; Python's standard error stays where it was.
    """
    if not os.environ.get(NATIVE_LOG):
        hide_native_log()
    sys.exit(main())


@contextlib.contextmanager
def interruptible():
    """Lets Ctrl-C end the process within native code, for whose end Python's handler waits."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def hide_native_log() -> None:
    """Separates Python's standard error from that of native libraries, which is hidden."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
    sys.stderr = os.fdopen(terminal, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
    faulthandler.enable(sys.stderr)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
