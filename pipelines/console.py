"""The process around the command line: a quiet standard error."""

import contextlib
import faulthandler
import logging
import os
import signal
import sys
import tempfile
import threading

from keras_attn.whole_file import scratch_folder

NATIVE_LOG = "KERAS_ATTN_NATIVE_LOG"
"""Environment variable that lets native libraries write to the terminal."""


def run(main) -> None:
    """Runs a command line and exits with its code, without the messages of native libraries.

    TensorFlow, CUDA and SentencePiece write to the file descriptor of standard error. It leads to a
    temporary file from here on; Python's standard error stays where it was. Temporary files lie in
    a folder of their own, which the next command removes if this one is killed.
    """
    if not os.environ.get(NATIVE_LOG):
        hide_native_log()
    with temporary_folder():
        sys.exit(main())


@contextlib.contextmanager
def temporary_folder():
    """Puts temporary files of Python and TensorFlow into a folder that is removed at the end."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # On a read-only disk there are no temporary files.
            folder = stack.enter_context(scratch_folder(tempfile.gettempdir()))
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        yield


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


@contextlib.contextmanager
def terminable():
    """Context in which SIGTERM raises `Terminated`, in the main thread."""

    def terminate(number, frame):
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextlib.contextmanager
def interruptible():
    """Lets Ctrl-C and SIGTERM end the process within native code, for whose end Python's handlers
    wait."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if handlers[signal.SIGINT] is signal.default_int_handler:
        for number in handlers:
            signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


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
