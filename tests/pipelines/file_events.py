"""The states in which a killed process can leave a folder."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

WRITTEN = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "os.truncate")


class FileEvents:
    """Copies a folder before each change to a file in it that Python makes.

    A state is what a process that is killed just then leaves; where a file was being written, there
    is another one with half of it. States that are as the one before are left out.

    Args:
        folder: that is watched.
        states: folder for the copies.
        ignored: names in the folder that do not matter.
    """

    def __init__(self, folder, states, ignored=()):
        self.folder, self.states, self.ignored = Path(folder), Path(states), tuple(ignored)
        self.events, self.writing, self.active, self.last = [], None, False, None
        sys.addaudithook(self._event)

    @contextlib.contextmanager
    def recorded(self):
        """Watches what happens inside."""
        self.active = True
        try:
            yield self
        finally:
            self._keep("the end")
            self.active = False

    def _event(self, name, arguments):
        if not self.active or not (changed := self._changed(name, arguments)):
            return
        self.active = False  # What copying does is no event.
        try:
            self._keep(f"before {name} {changed}")
            self.writing = changed if name == "open" else None
        finally:
            self.active = True

    def _changed(self, name, arguments):
        """The path, in the folder, of what an event changes; None where it changes nothing."""
        writes = name == "open" and isinstance(arguments[2], int) and arguments[2] & WRITTEN
        if not (writes or name in CHANGES) or not isinstance(
            arguments[0], str | bytes | os.PathLike
        ):
            return None
        path = Path(os.fsdecode(arguments[0]))
        inside = path.is_relative_to(self.folder) and path != self.folder
        relative = path.relative_to(self.folder) if inside else None
        return None if relative is None or relative.parts[0] in self.ignored else relative

    def _keep(self, what):
        content = {
            str(path.relative_to(self.folder)): _content(path)
            for path in sorted(self.folder.rglob("*"))
            if path.relative_to(self.folder).parts[0] not in self.ignored
        }
        if content != self.last:
            half = self.writing and content.get(str(self.writing))
            if isinstance(half, bytes) and half:
                self._write(
                    f"{what}, half of {self.writing}",
                    {**content, str(self.writing): half[: len(half) // 2]},
                )
            self._write(what, content)
            self.last = content

    def _write(self, what, content):
        state = self.states / f"{len(self.events):04}"
        state.mkdir(parents=True)
        for name, data in content.items():
            path = state / name
            if data is None:
                path.mkdir(exist_ok=True)
            elif isinstance(data, str):
                path.symlink_to(data)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        self.events.append(what)

    def restore(self, number):
        """Brings a state back into the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.states / f"{number:04}", self.folder, symlinks=True)


def _content(path):
    """A file's bytes, where a link leads, None for a folder."""
    if path.is_symlink():
        return os.readlink(path)
    return path.read_bytes() if path.is_file() else None
