"""Files that are there whole or not at all, whatever happens while they are written."""

import contextlib
import os
from pathlib import Path


@contextlib.contextmanager
def whole_file(path):
    """Gives a path to write to, whose file takes the place of `path` in one move at the end.

    If anything goes wrong, `path` is as it was before, and nothing is left beside it.

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
    partial = path.with_name(f"partial-{path.name}")
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise OSError(f"Expected to write {path}. Received: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


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
