"""`keras-attn align`: links, scores, aligners and bad input."""

import time

import pytest

from keras_attn import progress
from keras_attn.alignment.hmm import JumpDistortion
from keras_attn_pipelines.cli import main
from keras_attn_pipelines.saved import word_links
from tests.alignment.pairs import SOURCES, TARGETS


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Names of a source and a target in the working directory; the second pair is empty."""
    monkeypatch.chdir(tmp_path)
    for name, side in (("a.en", SOURCES), ("a.de", TARGETS)):
        lines = [" ".join(words) for words in side]
        (tmp_path / name).write_text("\n".join([lines[0], "", *lines[1:]]) + "\n")
    (tmp_path / "gold").write_text("0-0 1-1\n" + 7 * "\n")
    return ["a.en", "a.de"]


def test_links_and_scores(files, tmp_path, capsys):
    assert main(["align", *files, "--gold", "gold"]) == 0
    links, said = capsys.readouterr()
    assert links.splitlines()[:3] == ["0-0 1-1", "", "0-0 1-1"]
    assert "AER 0." in said and "recall 1.000" in said
    assert "1 of 8 pairs have an empty sentence" in said
    assert main(["align", *files, "--gold", "gold", "--out", "links"]) == 0
    assert (tmp_path / "links").read_text() == links
    assert capsys.readouterr().out.startswith("8 pairs: AER 0.")


def test_scores_of_links_and_matrices(files, capsys):
    assert main(["align", *files]) == 0
    plain = capsys.readouterr().out.splitlines()
    for symmetrization in ("grow-diag-final-and", "forward", "backward"):
        options = ["--scores", "--show", "2", "--symmetrization", symmetrization]
        assert main(["align", *files, *options]) == 0
        links, said = capsys.readouterr()
        scored = [line.split() for line in links.splitlines()]
        if symmetrization == "grow-diag-final-and":
            assert [[link.split(":")[0] for link in line] for line in scored] == [
                line.split() for line in plain
            ]
        chances = [float(link.split(":")[1]) for line in scored for link in line]
        assert all(0 < chance <= 1 for chance in chances) and max(chances) > 0.5
        assert "pair 1\n" in said and "das  ■ ·\nHaus · ■\n" in said
        assert "pair 2\n" in said and "pair 3\n" not in said
    assert main(["align", *files, "--gold", "gold", "--scores", "--out", "links"]) == 0
    capsys.readouterr()
    assert main(["align", *files, "--gold", "links"]) == 0  # Scores are read as gold links are.


def test_a_saved_aligner_on_new_text(files, tmp_path, capsys):
    (tmp_path / "new.tsv").write_text("a house\tein Haus\n")
    assert main(["align", *files, "--model", "model2", "--save", "kept"]) == 0
    capsys.readouterr()
    assert main(["align", "new.tsv", "--load", "kept", "--symmetrization", "intersection"]) == 0
    assert capsys.readouterr().out == "0-0 1-1\n"


def test_long_pairs_are_announced_and_shown_while_they_are_worked_on(files, monkeypatch, capsys):
    expect = JumpDistortion.expect

    def slow(*arguments):
        time.sleep(0.05)
        return expect(*arguments)

    monkeypatch.setattr(word_links, "_LONG", 3)
    monkeypatch.setattr(progress, "MINUTE", 0.01)
    monkeypatch.setattr(JumpDistortion, "expect", slow)
    assert main(["align", *files, "--iterations", "1"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("the longest pair has 3 and 4 words; each step on it may take minutes")
    assert said.count("training: 5 of 6, 0 s, about 0 s left") > 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["a.en", "none"], "Expected a text file. Received: none, no such file"),
        (["."], "Received: ., a folder"),
        (["a.en"], "Received: a.en, line 1: no tab"),
        (["a.en", "gold", "--model", "m"], "Received: model=m"),
        (["a.en", "a.de", "--symmetrization", "both"], "Received: both"),
        (["a.en", "a.de", "--load", "none"], "Expected an aligner at none"),
        (["a.en", "a.de", "--load", "x", "--model", "hmm"], "with --load. Received: --model"),
        (["a.en", "a.de", "--out", "none/links"], "Expected a file in a folder that exists"),
        (["a.en", "a.de", "--save", "."], "Expected a new folder"),
        (["a.en", "a.de", "--gold", "a.de"], "a.de, line 1: das"),
        (["a.en", "a.de", "--gold-base", "1"], "Expected --gold with --gold-base. Received: none"),
    ],
)
def test_bad_input_ends_with_one_line(files, capsys, asked, message):
    assert main(["align", *asked]) == 2
    output, said = capsys.readouterr()
    assert output == "" and message in said and said.count("\n") == 1
