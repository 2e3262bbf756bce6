"""Files that are there whole or not at all."""

import errno
import os

import pytest

from keras_attn.whole_file import check_folder, made_folder, whole_file


@pytest.mark.parametrize("before", [None, "mine"])
def test_a_full_disk_leaves_what_was_there(before, tmp_path):
    path = tmp_path / "file.txt"
    if before:
        path.write_text(before)
    with (
        pytest.raises(OSError, match=r"Expected to write .*file\.txt\. Received: No space left"),
        whole_file(path) as partial,
    ):
        partial.write_text("half of")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ([before] if before else [])


def test_other_errors_are_not_renamed(tmp_path):
    with pytest.raises(KeyError, match="x"), whole_file(tmp_path / "file.txt") as partial:
        partial.write_text("half of")
        raise KeyError("x")
    assert not list(tmp_path.iterdir())


def test_folders(tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(ValueError, match=r"Expected a folder at .* a file at .*file$"):
            check_folder(path)
        with pytest.raises(OSError, match=r"Expected a folder at .*, to write to\. Received: "):
            made_folder(path)
    check_folder(tmp_path / "new" / "one")
    assert made_folder(tmp_path / "new" / "one").is_dir()


def test_a_pipe_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OSError, match=r"Expected to write a file\. Received: .*pipe, a device or"),
        whole_file(tmp_path / "pipe") as partial,
    ):
        partial.write_text("42")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()
