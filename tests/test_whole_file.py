"""Files that are there whole or not at all."""

import errno
import os

import pytest

from keras_attn.whole_file import (
    check_folder,
    is_marked,
    made_folder,
    make_marked_folder,
    move_folder,
    remove_marked,
    whole_file,
    whole_folder,
)


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
        pytest.raises(OSError, match=r"Expected a regular file to write\. Received: .*pipe"),
        whole_file(tmp_path / "pipe") as partial,
    ):
        partial.write_text("42")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_of_a_killed_process_goes_and_one_of_another_stays(tmp_path):
    left = make_marked_folder(tmp_path / ".keras-attn-abcd1234")
    (left / "graph").write_bytes(b"x")
    with whole_folder(tmp_path) as first, whole_folder(tmp_path) as second:
        assert first.is_dir() and second.is_dir() and not left.exists()
        (second / "graph").write_bytes(b"y")
        move_folder(second, tmp_path / "1")
    assert [entry.name for entry in tmp_path.iterdir()] == ["1"]


def test_a_folder_that_an_earlier_version_may_have_left_is_named(tmp_path, capsys):
    (tmp_path / "partial-abcd1234").mkdir()
    with whole_folder(tmp_path):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["partial-abcd1234"]
    assert f"not removed: {tmp_path / 'partial-abcd1234'}" in capsys.readouterr().err


def test_modes_follow_the_umask_and_an_existing_file_keeps_its_own(tmp_path):
    before = os.umask(0o027)
    try:
        for name in ("new", "old"):
            with whole_file(tmp_path / name) as partial:
                partial.write_text("1")
        (tmp_path / "old").chmod(0o604)
        with whole_file(tmp_path / "old") as partial:
            partial.write_text("2")
        with whole_folder(tmp_path) as folder:
            move_folder(folder, tmp_path / "folder")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"new": 0o640, "old": 0o604, "folder": 0o750}


def test_a_link_stays_and_its_target_has_the_new_content(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name, before in (("file", "mine"), ("new", None)):
        place, link = tmp_path / "elsewhere" / name, tmp_path / name
        if before:
            place.write_text(before)
        link.symlink_to(place)
        with whole_file(link) as partial:
            assert partial.name == name and not (before and place.read_text() != before)
            partial.write_text("42")
        assert link.is_symlink() and place.read_text() == "42"
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "elsewhere",
        "file",
        "file",
        "new",
        "new",
    ]


def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("mine")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # Root may write anyway.
    with (
        pytest.raises(OSError, match=r"Expected to write .*file\. Received: a read-only file"),
        whole_file(path),
    ):
        raise AssertionError("it was asked for content")
    assert path.read_text() == "mine"


def test_an_empty_folder_lends_its_mode_to_the_one_that_takes_its_place(tmp_path):
    (tmp_path / "out").mkdir(mode=0o700)
    with whole_folder(tmp_path) as folder:
        (folder / "x").touch()
        move_folder(folder, tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_only_a_marked_folder_is_taken_and_removed(tmp_path):
    mine = tmp_path / "snapshots"
    mine.mkdir()
    (mine / "000000001.npz").write_text("mine")
    with pytest.raises(ValueError, match=r"one that keras-attn made\. Received: .*snapshots"):
        make_marked_folder(mine)
    remove_marked(mine)
    assert (mine / "000000001.npz").read_text() == "mine"
    own = make_marked_folder(tmp_path / "own")
    (own / "x").touch()
    assert make_marked_folder(own) == own and is_marked(own)
    (tmp_path / "link").symlink_to(own)
    own.rename(tmp_path / "renamed")
    for path in (tmp_path / "renamed", tmp_path / "link"):
        remove_marked(path)
    assert (tmp_path / "renamed" / "x").exists()
