"""Writes brackets.json: pairs of random trees, and what EVALB counts in them.

    python -m tests.golden.make_brackets

Needs on the PATH the program evalb (EVALB of 2006 to 2013); takes a second.
"""

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
EVALB_NAMES = {
    "recall": "Bracketing Recall",
    "precision": "Bracketing Precision",
    "f1": "Bracketing FMeasure",
    "exact": "Complete match",
    "crossing": "Average crossing",
    "no_crossing": "No crossing",
    "tagging": "Tagging accuracy",
}
OK = 0
"""State of a sentence that could be compared; 1 is an error, 2 is skipped."""


def evalb_answer(parsed, true) -> tuple[list[list[int]], dict[str, float]]:
    """EVALB's [state, matched, true, parsed, crossing, words, correct tags] of each sentence, and
    its scores of all of them."""
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, name) for name in ("prm", "true", "parsed")]
        texts = [COLLINS, *("".join(f"{bracket_text(t)}\n" for t in own) for own in (true, parsed))]
        for path, text in zip(names, texts):
            path.write_text(text, encoding="utf-8")
        command = ["evalb", "-e", "1000000", "-p", *map(str, names)]
        done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    printed = done.stdout.decode("utf-8", "replace")
    rows = [line.split() for line in printed.split("=\n")[1].splitlines()]
    rows = [row for row in rows if row and row[0].isdigit()]
    if len(rows) != len(true):
        raise ValueError(f"Expected {len(true)} lines of counts. Received: {len(rows)}")
    summary = printed.split("-- All --")[1].split("--")[0]
    values = dict(line.split("=") for line in summary.splitlines() if "=" in line)
    values = {name.strip(): float(value) for name, value in values.items()}
    scores = {name: values[theirs] for name, theirs in EVALB_NAMES.items()}
    return [[int(row[2]), *map(int, row[5:11])] for row in rows], scores


def pairs(seed: int, count: int):
    """(parsed, true) random trees: damaged copies, every sixth with other words perhaps."""
    source = random.Random(seed)
    true = [random_tree(source) for _ in range(count)]
    parsed = [damaged(tree, source, share=0.3) for tree in true]
    parsed[::6] = [with_other_words(tree, source) for tree in parsed[::6]]
    return parsed, true


def main() -> None:
    parsed, true = pairs(seed=7, count=PAIRS)
    counts, scores = evalb_answer(parsed, true)
    lines = [
        json.dumps({"parsed": bracket_text(p), "true": bracket_text(t), "evalb": row})
        for p, t, row in zip(parsed, true, counts)
    ]
    pairs_text = ",\n".join(lines)
    text = f'{{"scores": {json.dumps(scores)},\n"pairs": [\n{pairs_text}\n]}}\n'
    GOLDEN.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
