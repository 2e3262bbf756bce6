"""Atomic writes of files and folders, and locks; nothing that others made is ever removed."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from keras_attn.untrusted import DamagedFileError

_SCRATCH = ".keras-attn-"
_FORMER = re.compile("partial-[a-z0-9_]{8}")
"""Folders that earlier versions left when they were killed; they had no mark."""
_PIECE = 1 << 20


@contextlib.contextmanager
def whole_file(path):
    """Gives a path to write to, whose file takes the place of `path` in one move at the end.

    The file is synced to disk before it is moved: after a power cut, `path` holds the previous
    content or the new one, never a mixture. If anything fails, `path` is unchanged. It is written
    in a new folder of its own beside `path`, which is removed; what a killed process left of such
    folders is removed by the next write there. A file that is replaced keeps its mode, and a link
    stays a link to the new content.

    Args:
        path: of the file, in a folder that exists.

    Returns:
        context manager of a path with the same name.

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
    place = Path(os.path.realpath(path))
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"Expected a regular file to write. Received: {path}, a device or a pipe")
    if path.is_file() and not os.access(path, os.W_OK):
        raise OSError(f"Expected to write {path}. Received: a read-only file")
    try:
        with scratch_folder(place.parent) as scratch:
            partial = scratch / path.name
            yield partial
            if place.is_file():
                shutil.copymode(place, partial)
            sync(partial)
            move_file(partial, place)
    except OSError as error:
        if error.errno is None:  # Says already what could not be written.
            raise
        raise OSError(f"Expected to write {path}. Received: {error.strerror}") from error


@contextlib.contextmanager
def whole_folder(folder):
    """Context with a new folder inside another, to be filled and moved into place.

    It is removed at the end unless it was moved; what killed processes left is removed first.
    Folders of earlier versions, which may be a user's, are reported and kept.

    Args:
        folder: path of the existing parent folder.

    Returns:
        context manager of the path.

    Raises:
        OSError: it cannot be written.
    """
    folder = Path(folder)
    for path in sorted(folder.iterdir()):
        if is_legacy_name(path.name) and path.is_dir():
            print(f"not removed: {path}, perhaps left by an earlier version", file=sys.stderr)
    with scratch_folder(folder) as scratch:
        partial = scratch / "whole"
        partial.mkdir()
        yield partial


@contextlib.contextmanager
def scratch_folder(folder):
    """Context with a new, marked and locked folder inside another, removed at the end.

    What killed processes left there is removed first.

    Args:
        folder: path of the existing parent folder.

    Returns:
        context manager of the path.
    """
    remove_stale(folder)
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder))
    with locked(scratch):
        try:
            mark(scratch)
            yield scratch
        finally:
            remove_marked(scratch)


def remove_stale(folder) -> None:
    """Removes the temporary folders that killed processes left in a folder."""
    for path in Path(folder).glob(f"{_SCRATCH}*"):
        if is_marked(path):
            with contextlib.suppress(OSError), locked(path, wait=False) as has_lock:
                if has_lock:
                    remove_marked(path)


def is_legacy_name(name: str) -> bool:
    """Whether earlier versions may have left a temporary folder of this name, without a mark."""
    return bool(_FORMER.fullmatch(name))


def is_scratch(path) -> bool:
    """Whether a killed process of this package left a folder, or another one fills it now."""
    path = Path(path)
    if not path.name.startswith(_SCRATCH) or path.is_symlink() or not path.is_dir():
        return False
    return is_marked(path) or not any(path.iterdir())


def mark(folder) -> None:
    """Marks a folder as one that this package may remove, by an empty file named after it."""
    mark_of(folder).touch()


def mark_of(folder) -> Path:
    """Path of a folder's mark; a folder that is renamed loses it."""
    return Path(folder, f"{Path(folder).name}.keras-attn")


def is_marked(folder) -> bool:
    """Whether a folder is one that this package made and may remove; never through a link."""
    try:
        status = mark_of(folder).lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_size and not Path(folder).is_symlink()


def make_marked_folder(path) -> Path:
    """Makes a folder that this package may remove, or finds the one that it made.

    Raises:
        ValueError: a folder that something else made ("Expected a new folder, or one that
            keras-attn made. Received: snapshots").
        OSError: it cannot be made.
    """
    path = made_folder(path)
    if not is_marked(path):
        if path.is_symlink() or any(path.iterdir()):
            raise ValueError(
                f"Expected a new folder, or one that keras-attn made. Received: {path}"
            )
        mark(path)
    return path


def remove_marked(folder, written: str = "*") -> None:
    """Removes what this package wrote into a marked folder, then its mark, then an empty folder.

    Args:
        folder: path.
        written: glob pattern of what was written there.
    """
    folder = Path(folder)
    if not is_marked(folder):
        return
    remove_stale(folder)
    for path in folder.glob(written):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path != mark_of(folder):
            _unlink(path)
    _unlink(mark_of(folder))
    with contextlib.suppress(OSError):
        folder.rmdir()


def _unlink(path):
    with contextlib.suppress(OSError):
        path.unlink()


def move_folder(source, path) -> None:
    """Syncs everything in a folder to disk and renames it; an empty folder there lends its mode."""
    if Path(path).is_dir():
        shutil.copymode(path, source)
    for inner in sorted(Path(source).rglob("*")):
        sync(inner)
    sync(source)
    os.rename(source, path)
    sync(Path(path).parent)


@contextlib.contextmanager
def locked(path, wait=True):
    """Locks a file or folder against other processes until the context or the process ends.

    Args:
        path: of an existing file or folder; no link.
        wait: bool. Whether to wait while another process holds the lock.

    Returns:
        context manager of a bool: False if the file system does not support locks.

    Raises:
        BlockingIOError: another process holds the lock and `wait` is False.
    """
    path = Path(path)
    handle = os.open(path, (os.O_RDONLY if path.is_dir() else os.O_RDWR) | os.O_NOFOLLOW)
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


def digest_of_folder(folder) -> str:
    """SHA-256 of the names and bytes of all files in a folder but hidden ones, in hexadecimal."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("[!.]*")):
        if path.is_dir():
            continue
        digest.update(f"{digest_of(path)}  {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()


def pending_path(path) -> Path:
    """Where a file waits that will replace another once the decision for it has been saved."""
    path = Path(path)
    return path.with_name(f".new-{path.name}") / path.name


def write_pending(path):
    """`whole_file` for the file that waits to replace another, see `settle_file`."""
    make_marked_folder(pending_path(path).parent)
    return whole_file(pending_path(path))


def move_pending(path) -> None:
    """Puts the file that waits to replace another in its place, if there is one."""
    new = pending_path(path)
    if is_marked(new.parent) and new.is_file():
        move_file(new, path)
    remove_marked(new.parent, new.name)


def settle_file(path, digest: str | None) -> None:
    """Puts the file that waits to replace another in its place, or discards it.

    Args:
        path: of the file.
        digest: of the valid file; None if there is none. A waiting file with this digest is moved
            into place, any other is removed.

    Raises:
        DamagedFileError: no file with this digest.
    """
    path = Path(path)
    former = path.with_name(f"new-{path.name}")  # Where earlier versions let it wait.

    def is_valid(file):
        return digest is None or (file.is_file() and digest_of(file) == digest)

    for new in (pending_path(path), former):
        if not is_valid(path) and is_valid(new):
            move_file(new, path)
    if not is_valid(path):
        received = "a damaged or different file" if path.is_file() else "no such file"
        raise DamagedFileError(f"Expected the file that was kept at {path}. Received: {received}")
    remove_marked(pending_path(path).parent, path.name)


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
