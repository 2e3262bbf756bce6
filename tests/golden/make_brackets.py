"""Writes brackets.json: pairs of random trees, and what EVALB and PYEVALB count in them.

    python -m tests.golden.make_brackets

Needs PYEVALB 0.1.3, and on the PATH the program evalb (EVALB of 2006 to 2013); takes a second.
"""

import contextlib
import io
import json
import random
import subprocess
import tempfile
from pathlib import Path

from keras_attn.text.bracket_text import bracket_text
from tests.evaluation.damaged_trees import damaged, random_tree, with_other_words

GOLDEN = Path(__file__).with_name("brackets.json")
PAIRS = 70
DELETED = ("TOP", "-NONE-", ",", ":", "``", "''", ".")
COLLINS = "".join(f"DELETE_LABEL {label}\n" for label in DELETED) + "EQ_LABEL ADVP PRT\n"
"""The parameters of COLLINS.prm that bear on the counts."""
OK = 0
"""State of a sentence that both programs could compare; 1 and 2 are errors or skipped."""


def evalb_counts(parsed, true) -> list[list[int]]:
    """EVALB's [state, matched, true, parsed, crossing, words, correct tags] of each sentence."""
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, name) for name in ("prm", "true", "parsed")]
        texts = [COLLINS, *("".join(f"{bracket_text(t)}\n" for t in own) for own in (true, parsed))]
        for path, text in zip(names, texts):
            path.write_text(text, encoding="utf-8")
        command = ["evalb", "-e", "1000000", "-p", *map(str, names)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    body = done.stdout.decode("utf-8", "replace").split("=\n")[1].splitlines()
    rows = [line.split() for line in body if line.split()[:1] and line.split()[0].isdigit()]
    if len(rows) != len(true):
        raise ValueError(f"Expected {len(true)} lines of counts. Received: {len(rows)}")
    return [[int(row[2]), *map(int, row[5:11])] for row in rows]


def pyevalb_counts(parsed, true) -> list[list[int]]:
    """The same by PYEVALB, where a tree with other words has state 2."""
    from PYEVALB import parser
    from PYEVALB.scorer import LengthUnmatch, Scorer, WordsUnmatch

    found = []
    for pair in zip(true, parsed):
        trees = [parser.create_from_bracket_string(bracket_text(tree)) for tree in pair]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                one = Scorer().score_trees(*trees)
        except (LengthUnmatch, WordsUnmatch):
            found.append([2, 0, 0, 0, 0, 0, 0])
            continue
        brackets = [one.matched_brackets, one.gold_brackets, one.test_brackets]
        found.append([OK, *brackets, one.cross_brackets, one.words, one.correct_tags])
    return found


def pairs(seed: int, count: int):
    """(parsed, true) random trees: damaged copies, every sixth with other words perhaps."""
    source = random.Random(seed)
    true = [random_tree(source) for _ in range(count)]
    parsed = [damaged(tree, source, share=0.3) for tree in true]
    parsed[::6] = [with_other_words(tree, source) for tree in parsed[::6]]
    return parsed, true


def main() -> None:
    parsed, true = pairs(seed=7, count=PAIRS)
    rows = zip(parsed, true, evalb_counts(parsed, true), pyevalb_counts(parsed, true))
    lines = [
        json.dumps({"parsed": bracket_text(p), "true": bracket_text(t), "evalb": e, "pyevalb": y})
        for p, t, e, y in rows
    ]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
