"""Links of sentence pairs, from files to files."""

import contextlib
import math
import sys

from keras_attn.alignment import (
    Aligner,
    AlignerOptions,
    alignment_scores,
    load_aligner,
    pharaoh,
    read_gold,
    read_pairs,
    save_aligner,
)
from keras_attn.alignment.saved_aligner import check_new_folder
from keras_attn.alignment.symmetrization import check_symmetrization
from keras_attn.escaping import escape_terminal
from keras_attn.progress import Progress
from keras_attn.whole_file import whole_file
from keras_attn_pipelines.saved.attention_word_links import Attended, Choice, rates_table
from keras_attn_pipelines.saved.link_matrix import link_matrix

TOLERANCE = 0.05
"""Share of gold lines that may have a link outside its sentences; they are listed."""
_TRAINING = ("model", "iterations", "variational")
_ATTENTION = ("backward_attention", "layer", "head", "reading")
_LONG = 1 << 20
"""Words times words of a pair that is announced: seconds for each step of an HMM, whose time grows
with the third power of the length."""
BOTH, FORWARD = "grow-diag-final-and", "forward"
"""Symmetrization by default, of two directions and of one translator's attention."""


def write_links(arguments) -> None:
    """Links the words of sentence pairs, by an aligner that it trains or loads, or by attention.

    Links go to a file, or to standard output; scores to standard output, or where the links are
    there to standard error, as do progress and the count of pairs without links.
    """
    options = _options(arguments)
    single = arguments.attention and not arguments.backward_attention
    symmetrization = arguments.symmetrization or (FORWARD if single else BOTH)
    check_symmetrization(symmetrization)
    if arguments.save:
        check_new_folder(arguments.save)
    pairs = read_pairs(arguments.source, arguments.target)
    gold, errors = None, []
    if arguments.gold:
        gold, errors = read_gold(arguments.gold, *pairs, TOLERANCE, arguments.gold_base)
    attended = None
    if arguments.attention:
        choice = Choice(arguments.layer, arguments.head, arguments.reading)
        models = (arguments.attention, arguments.backward_attention)
        attended = Attended.of(pairs, *models, choice, every=gold is not None)
        links = attended.links(*choice, symmetrization)
        scores = attended.scores(choice, links) if arguments.scores else None
        for error in attended.errors():
            print(escape_terminal(f"no links: {error}"), file=sys.stderr)
    else:
        links, scores = _aligned(arguments, options, pairs, symmetrization)
    lines = "".join(
        f"{pharaoh(pair, scores[place] if scores else None)}\n" for place, pair in enumerate(links)
    )
    if arguments.out:
        with whole_file(arguments.out) as partial:
            partial.write_text(lines, encoding="utf-8")
    else:
        sys.stdout.write(lines)
    for error in errors:
        print(escape_terminal(f"not scored: {error}"), file=sys.stderr)
    scores_file = sys.stdout if arguments.out else sys.stderr
    for number, pair in enumerate(list(zip(*pairs, links))[: arguments.show], 1):
        print(escape_terminal(f"pair {number}\n{link_matrix(*pair)}"), file=scores_file)
    _report(pairs, links, gold, scores_file)
    if attended and gold is not None and (rates := attended.rates(gold, symmetrization)):
        print(rates_table(rates, symmetrization), file=scores_file)


def _aligned(arguments, options, pairs, symmetrization):
    """Links by a statistical aligner, which is trained or loaded, and kept if asked for; and the
    scores of each, or None."""
    words, others = max(
        ((len(source), len(target)) for source, target in zip(*pairs, strict=True)),
        key=math.prod,
        default=(0, 0),
    )
    if words * others > _LONG:
        long = f"the longest pair has {words} and {others} words"
        print(f"{long}; each step on it may take minutes", file=sys.stderr)
    with _Stages() as progress:
        if arguments.load:
            aligner = load_aligner(arguments.load)
        else:
            aligner = Aligner.train(*pairs, options, progress)
        links = aligner.align(*pairs, symmetrization, progress=progress)
        scores = None
        if arguments.scores:
            scores = _scores(aligner, pairs, links, symmetrization, progress)
    if arguments.save:
        save_aligner(aligner, arguments.save)
    return links, scores


def _scores(aligner, pairs, links, symmetrization, progress):
    """The probability of each link in its direction, or the mean of both directions."""
    share = {"forward": 1.0, "backward": 0.0}.get(symmetrization, 0.5)
    scores: list[list[float]] = [[] for _ in links]
    for row, forward, backward in aligner.posteriors(*pairs, progress):
        chances = share * forward + (1 - share) * backward
        scores[row] = [float(chances[link]) for link in links[row]]
    return scores


def _options(arguments):
    """`AlignerOptions` as asked for; none with `--load`."""
    given = {name: getattr(arguments, name) for name in _TRAINING}
    given = {name: value for name, value in given.items() if value is not None}
    refused = [f"--{name}" for name in given] + ["--save"] * bool(arguments.save)
    if arguments.attention:
        refused += ["--load"] * bool(arguments.load)
    if refused and (arguments.load or arguments.attention):
        instead = "--attention" if arguments.attention else "--load"
        raise ValueError(
            f"Expected no options of a training with {instead}. Received: {', '.join(refused)}"
        )
    attention = {name: getattr(arguments, name) for name in _ATTENTION}
    chosen = [
        _flag(name)
        for name, value in attention.items()
        if value is not None and value is not False  # A layer of 0 is refused later.
    ]
    if chosen and not arguments.attention:
        received = ", ".join(chosen)
        raise ValueError(f"Expected --attention with {received}. Received: none")
    if arguments.gold_base and not arguments.gold:
        raise ValueError("Expected --gold with --gold-base. Received: none")
    return AlignerOptions(**given)


def _flag(name):
    """The flag of an argument."""
    return f"--{name.replace('_', '-')}"


def _report(pairs, links, gold, scores_file):
    """Says how many pairs have an empty sentence, and prints scores."""
    empty = sum(not source or not target for source, target in zip(*pairs, strict=True))
    if empty:
        print(f"{empty} of {len(links)} pairs have an empty sentence: no links", file=sys.stderr)
    if gold is not None:
        scores = alignment_scores(links, gold)
        scored = sum(links is not None for links in gold)
        print(
            f"{scored} pairs: AER {scores.aer:.3f}, precision {scores.precision:.3f}, "
            f"recall {scores.recall:.3f}",
            file=scores_file,
        )


class _Stages(contextlib.ExitStack):
    """`Progress` of one kind of work after the other."""

    stage = Progress("")

    def __call__(self, work, done, total):
        if work != self.stage.work:
            self.close()
            self.stage = self.enter_context(Progress(work, total, "batch"))
        self.stage.update(done - self.stage.done)
