"""Files that are there whole or not at all, whatever happens while they are written."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

PARTIAL = "partial-"
"""Prefix of files and folders that are being written."""
_PIECE = 1 << 20


@contextlib.contextmanager
def whole_file(path):
    """Gives a path to write to, whose file takes the place of `path` in one move at the end.

    The file is synced to disk before it is moved: after a power cut, `path` holds the previous
    content or the new one, never a mixture. If anything fails, `path` is unchanged and nothing is
    left beside it.

    Args:
        path: of the file, in a folder that exists.

    Returns:
        context manager of a path beside `path`, with the same suffix.

    Raises:
        OSError: ("Expected to write model.png. Received: No space left on device"); also where
            there is a folder, a device or a pipe.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "answer.txt")
        >>> with whole_file(path) as partial:
        ...     _ = partial.write_text("42"), path.exists()
        >>> path.read_text(), sorted(value.name for value in path.parent.iterdir())
        ('42', ['answer.txt'])
    """
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"Expected to write a file. Received: {path}, a device or a pipe")
    partial = path.with_name(f"{PARTIAL}{path.name}")
    try:
        yield partial
        sync(partial)
        os.replace(partial, path)
        sync(path.parent)
    except OSError as error:
        raise OSError(f"Expected to write {path}. Received: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def whole_folder(folder):
    """Context with a new folder inside another, to be filled and moved into place.

    It is removed at the end unless it was moved. Folders left by killed processes are removed
    first; a lock distinguishes them from those that are still being written.

    Args:
        folder: path of the existing parent folder.

    Returns:
        context manager of the path.

    Raises:
        OSError: it cannot be written.
    """
    folder = Path(folder)
    with locked(folder):  # Nobody else looks while the new folder has no lock yet.
        for left in folder.glob(f"{PARTIAL}*"):
            with contextlib.suppress(BlockingIOError), locked(left, wait=False) as alone:
                if alone:
                    shutil.rmtree(left, ignore_errors=True)
        partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=folder))
        lock = contextlib.ExitStack()
        lock.enter_context(locked(partial))
    with lock:
        try:
            partial.chmod(0o755)
            yield partial
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def move_folder(source, path) -> None:
    """Syncs everything in a folder to disk and renames it."""
    for inner in sorted(Path(source).rglob("*")):
        sync(inner)
    sync(source)
    os.rename(source, path)
    sync(Path(path).parent)


@contextlib.contextmanager
def locked(path, wait=True):
    """Locks a file or folder against other processes until the context or the process ends.

    Args:
        path: of an existing file or folder.
        wait: bool. Whether to wait while another process holds the lock.

    Returns:
        context manager of a bool: False if the file system does not support locks.

    Raises:
        BlockingIOError: another process holds the lock and `wait` is False.
    """
    path = Path(path)
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if not wait and not _is_at(handle, path):
                raise BlockingIOError(f"{path} was removed while it was locked")
            has_locks = True
        except BlockingIOError:
            raise
        except OSError:
            has_locks = False
        yield has_locks
    finally:
        os.close(handle)


def _is_at(handle, path):
    """Whether an open file is the one that is found at a path now."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def move_file(source, path) -> None:
    """Replaces a file by another in the same folder, in one move."""
    os.replace(source, path)
    sync(Path(path).parent)


def digest_of(path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def settle_file(path, digest: str | None) -> None:
    """Completes or discards a replacement that a killed process left as `new-NAME`.

    Args:
        path: of the file.
        digest: of the valid file; None if there is none. A new file with this digest is moved into
            place, any other is removed.

    Raises:
        ValueError: no file with this digest.
    """
    path = Path(path)
    new = path.with_name(f"new-{path.name}")
    if new.is_file() and digest is not None and digest_of(new) == digest:
        move_file(new, path)
    if digest is not None and not (path.is_file() and digest_of(path) == digest):
        received = "a damaged file, or another" if path.is_file() else "no such file"
        raise ValueError(f"Expected the file that was kept at {path}. Received: {received}")
    if new.exists():
        new.unlink(missing_ok=True)


def sync(path) -> None:
    """Syncs a file's content, or a folder's entries, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_folder(path) -> None:
    """Raises ValueError if there can be no folder at a path: it, or one above it, is a file."""
    path = Path(path)
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise ValueError(f"Expected a folder at {path}. Received: a file at {nearest}")


def made_folder(path) -> Path:
    """Makes a folder, and those that it lies in, if there is none.

    Args:
        path: of the folder.

    Returns:
        `path`.

    Raises:
        OSError: ("Expected a folder at model, to write to. Received: File exists").
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"Expected a folder at {path}, to write to. Received: {error.strerror or error}"
        raise OSError(message) from error
    return path
