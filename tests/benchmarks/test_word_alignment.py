"""The benchmark of word alignment runs on tiny corpora. No figure is looked at."""

import json
import subprocess
import sys

from benchmarks import word_alignment
from keras_attn.alignment import AlignerOptions
from tests.alignment.pairs import SOURCES, TARGETS
from tests.processes import ROOT


def test_rows_of_a_gold_file(tmp_path):
    keys = ("src_words", "tgt_words", "alignment")
    lines = (json.dumps(dict(zip(keys, (*pair, [[0, 0]])))) for pair in zip(SOURCES, TARGETS))
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    corpus = word_alignment.read_corpus(f"{tmp_path}/a.jsonl+{tmp_path}/a.jsonl")
    works = {name: word_alignment.ours(AlignerOptions()) for name in ("one", "two")}
    rows = word_alignment.rows("a", corpus, works, {"one": "one", "two": "one"}, 1)
    assert [row[:2] for row in rows] == [["a", "one"], ["a", "two"]]
    assert rows[0][2:-1] == rows[1][2:-1] and all(
        len(row) == len(word_alignment.HEAD) for row in rows
    )
    assert "(" in rows[1][-1] and len(corpus[0]) == 14


def test_peers_that_are_not_there_are_named(capsys):
    assert word_alignment.peers(("fast_align", "no_such_package 1"), [sys.executable]) == {}
    assert "no_such_package 1: left out" in capsys.readouterr().err


def test_a_peer_needs_no_other_package():
    program = "import benchmarks.peer_aligner, sys; print('numpy' in sys.modules)"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr[-2000:]
