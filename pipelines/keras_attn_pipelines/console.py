"""The process around the command line: a quiet standard error."""

import contextlib
import faulthandler
import gc
import io
import os
import signal
import sys
import tempfile
import threading

from keras_attn.native_log import NATIVE_LOG

ALLOCATIONS = 50_000
"""Objects more than before, at which Python looks for cycles among the newest of them: 700, its
default, costs several seconds among the many objects of TensorFlow and of records."""
AGAIN = 3.0
"""Seconds after which a signal that did not end the command is sent to it again."""


def run(main) -> None:
    """Runs a command line and exits with its code, without the messages of native libraries.

    TensorFlow, CUDA and SentencePiece write to the file descriptor of standard error. It leads to a
    temporary file from here on; Python's standard error stays where it was. Temporary files lie in
    a folder of their own, which the next command removes if this one is killed.
    """
    if not os.environ.get(NATIVE_LOG):
        hide_native_log()
    gc.set_threshold(ALLOCATIONS)
    if isinstance(sys.stdout, io.TextIOWrapper):  # Names of files may be no UTF-8.
        sys.stdout.reconfigure(errors="backslashreplace")
    with temporary_folder():
        sys.exit(main())


@contextlib.contextmanager
def temporary_folder():
    """Puts temporary files of Python and TensorFlow into a folder that is removed at the end."""
    from keras_attn.whole_file import scratch_folder  # Keras writes on its own when it is imported.

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # On a read-only disk there are no temporary files.
            folder = stack.enter_context(scratch_folder(tempfile.gettempdir()))
            tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        yield


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


@contextlib.contextmanager
def terminable():
    """Context in which SIGTERM raises `Terminated`, Ctrl-C KeyboardInterrupt; in the main thread.

    Python drops what is raised within a callback of its garbage collector, so the signal is sent
    again after a while.
    """
    raised = {signal.SIGTERM: Terminated, signal.SIGINT: KeyboardInterrupt}
    again: list[threading.Timer] = []

    def end(number, frame):
        again.append(threading.Timer(AGAIN, os.kill, (os.getpid(), number)))
        again[-1].daemon = True
        again[-1].start()
        raise raised[number]

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.signal(number, end) for number in raised}
    try:
        yield
    finally:
        for timer in again:
            timer.cancel()
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interruptible():
    """Lets Ctrl-C and SIGTERM end the process within native code, for whose end Python's handlers
    wait."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if handlers[signal.SIGINT] is not signal.SIG_IGN:
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
