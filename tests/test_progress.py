import io
import time

import pytest

from keras_attn import progress
from keras_attn.progress import Progress


@pytest.fixture
def minutes(monkeypatch):
    monkeypatch.setattr(progress, "MINUTE", 0.01)


def wait_for(text, capsys):
    said = ""
    while text not in said:
        time.sleep(0.01)
        said += capsys.readouterr().err
    return said


def test_a_log_has_a_line_a_minute(minutes, capsys):
    with Progress("reading data"), Progress("examining pictures", 4000, "picture") as work:
        work.update(1000)
        said = wait_for("examining pictures: 1,000 of 4,000, 0 s, about 0 s left\n", capsys)
    assert "\r" not in said and "reading" not in said
    with Progress("reading data"):
        wait_for("reading data: 0 s\n", capsys)


def test_a_terminal_has_a_bar(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    assert list(Progress.over("abc", "drawing scenes", "scene")) == ["a", "b", "c"]
    assert "drawing scenes: 100%" in terminal.getvalue() and "3/3" in terminal.getvalue()


def test_nothing_is_shown_by_choice(minutes, capsys):
    with Progress("answers", 3, "answer", shown=False) as hidden:
        hidden.update(3)
    with Progress("answers", 3, "answer", shown=None):
        time.sleep(0.03)
    assert hidden.done == 3 and capsys.readouterr().err == ""
