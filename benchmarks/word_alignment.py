"""How well and how fast words are aligned, beside eflomal, fast_align and nltk.

Run as `python -m benchmarks.word_alignment GOLD.jsonl… --peer-python PYTHON…`, Pythons with eflomal
or nltk; what is not there is left out, as is fast_align where there is no program of this name. A
gold file has `src_words`, `tgt_words` and `alignment` on each line; files given together as
`a.jsonl+b.jsonl` are one corpus. Every aligner gets the sentences alone, links them in both
directions, and is scored on the same sentences after the same symmetrization.

nltk's Models 1 and 2 get the first pairs only, beside our models with the same iterations and none
of our additions (no agreement, no shared first letters, no spelling, each direction's own links).

Seconds are processor time of training and aligning in both directions, reading and start-up left
out, medians over the turns; in brackets the median over the turns of the aligner's seconds by ours.
"""

import argparse
import functools
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.peer_aligner import ALIGN, ITERATIONS
from benchmarks.processes import processor_seconds
from benchmarks.race import OURS, python_with, say
from benchmarks.timing import answers_in_turns, ratio, table
from benchmarks.worker import Worker
from keras_attn.alignment import (
    Aligner,
    AlignerOptions,
    Gold,
    alignment_scores,
    read_gold,
    read_pairs,
    symmetrize,
)
from keras_attn.alignment.aligner import JOINT

SYMMETRIZATIONS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
HEAD = (
    "pairs",
    "aligner",
    *(f"{name}: AER" for name in SYMMETRIZATIONS),
    "precision",
    "recall",
    "seconds",
)
MODELS = {"HMM": "hmm", "Model 2": "model2", "Model 1": "model1"}
PLAIN = {
    "agreement": False,
    "stem_weight": 0.0,
    "spelling_weight": 0.0,
    "iterations": ITERATIONS,
}
NLTK = {
    "1": AlignerOptions(model="model1", first_iterations=0, **PLAIN),
    "2": AlignerOptions(model="model2", first_iterations=2 * ITERATIONS, **PLAIN),
}
TOLERANCE = 0.05


def read_corpus(name):
    """Sources, targets and gold links of files joined by `+`."""
    sources, targets, gold = [], [], []
    for path in name.split("+"):
        pairs = read_pairs(path)
        links, errors = read_gold(path, *pairs, TOLERANCE)
        if errors:
            say(f"{len(errors)} of {len(links)} pairs are not scored: {errors[0]}")
        gold += links
        sources, targets = [*sources, *pairs.sources], [*targets, *pairs.targets]
    return sources, targets, gold


def ours(options, decoding=JOINT):
    """Function of sources and targets to seconds and links of both directions."""

    def align(sources, targets):
        begin, links = processor_seconds(), [[[] for _ in sources], [[] for _ in sources]]
        aligner = Aligner.train(sources, targets, options)
        for row, *both in aligner.directed(sources, targets, decoding):
            for side, matrix in zip(links, both):
                words, others = matrix.nonzero()  # Faster than argwhere.
                side[row] = list(zip(words.tolist(), others.tolist()))
        return processor_seconds() - begin, links

    return align


def peer(name, python):
    """The same by a peer in another process."""

    def align(sources, targets):
        settings = {"name": name, "sources": sources, "targets": targets}
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            with Worker(python, "benchmarks.peer_aligner", settings, log) as worker:
                return worker.do(ALIGN)

    return align


def peers(names, pythons):
    """dict of those peers that are there."""
    there = {}
    for name in names:
        package = name.split()[0]
        if name == "fast_align":
            python, missing = shutil.which(name) and sys.executable, "program of this name"
        else:
            python, missing = python_with(package, pythons), f"Python given has {package}"
        if python is None:
            say(f"{name}: left out, no {missing}")
        else:
            there[name] = peer(name, python)
    return there


def measure(works, sources, targets, repeats):
    """Seconds (repeats,) by name, and links of both directions by name; in turns."""

    def aligned(name):
        spent, links = works[name](sources, targets)
        say(f"{name}: {spent:.2f} s")
        return spent, links

    calls = {name: functools.partial(aligned, name) for name in works}
    answers = answers_in_turns(calls, repeats, warm_up=False)
    seconds = {name: np.array([spent for spent, _ in each]) for name, each in answers.items()}
    return seconds, {name: each[-1][1] for name, each in answers.items()}


def scores(both, sources, targets, gold: list[Gold]):
    """AER of each symmetrization shown, precision and recall of the last: cells."""
    cells = []
    for name in SYMMETRIZATIONS:
        links = []
        for pair in zip(sources, targets, *both):
            matrices = np.zeros((2, len(pair[0]), len(pair[1])), bool)
            for matrix, side in zip(matrices, pair[2:]):
                matrix[tuple(np.array(side, int).reshape(-1, 2).T)] = True
            links.append([(i, j) for i, j in np.argwhere(symmetrize(*matrices, name)).tolist()])
        result = alignment_scores(links, gold)
        cells.append(result.aer)
    return [f"{value:.3f}" for value in (*cells, result.precision, result.recall)]


def rows(label, corpus, works, base, repeats):
    """Rows of the table; `base` names for each aligner the one of ours it is compared with."""
    sources, targets, gold = corpus
    seconds, links = measure(works, sources, targets, repeats)
    lines = []
    for name in works:
        cell = f"{np.median(seconds[name]):.2f}"
        if base[name] != name:
            cell += f" ({ratio(seconds[name], seconds[base[name]]):.2f})"
        lines.append([label, name, *scores(links[name], sources, targets, gold), cell])
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("gold", nargs="+", metavar="GOLD.jsonl[+GOLD.jsonl]")
    parser.add_argument("--peer-python", nargs="*", default=[], metavar="PYTHON")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--nltk-pairs", type=int, default=100, help="default: 100; 0: none")
    given = parser.parse_args()
    pythons, made = [sys.executable, *given.peer_python], []
    models = {
        f"{OURS}, {name}": ours(AlignerOptions(model=model)) for name, model in MODELS.items()
    }
    others = peers(("eflomal", "fast_align"), pythons)
    slow = peers([f"nltk {number}" for number in NLTK], pythons) if given.nltk_pairs else {}
    plain = {name: f"{OURS}, Model {name[-1]}, plain" for name in slow}
    for gold in given.gold:
        corpus = read_corpus(gold)
        label = f"{Path(gold.split('+')[0]).name.split('.')[0]}, {len(corpus[0])}"
        works = {**models, **others}
        base = dict.fromkeys(works, f"{OURS}, HMM")
        made += rows(label, corpus, works, base, given.repeats)
        few = [part[: given.nltk_pairs] for part in corpus]
        label = f"{label.split(',')[0]}, first {len(few[0])}"
        works = {same: ours(NLTK[name[-1]], "posterior") for name, same in plain.items()} | slow
        if slow:
            base = {**dict(zip(works, works)), **plain}
            made += rows(label, few, works, base, given.repeats)
    print(table(HEAD, made))
