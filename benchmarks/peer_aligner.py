"""Other software aligns words in both directions, in a process of its own.

It needs Python and the peer alone. Its one work, ALIGN, returns for each pair of sentences the
links given the source and those given the target.
"""

import subprocess
import tempfile
from pathlib import Path

from benchmarks.worker import serve

ALIGN = "align"
ITERATIONS = 5
"""Of nltk's models; its Model 2 starts from twice as many of Model 1."""


def eflomal(sources, targets):
    """Both directions at once, with eflomal's defaults."""
    from eflomal import Aligner

    with tempfile.TemporaryDirectory() as folder:
        names = [str(Path(folder, name)) for name in ("forward", "backward")]
        sides = ([" ".join(words) for words in side] for side in (sources, targets))
        Aligner().align(*sides, links_filename_fwd=names[0], links_filename_rev=names[1])
        return [_read(Path(name).read_text()) for name in names]


def fast_align(sources, targets):
    """The program of that name, with its recommended options, once for each direction."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs")
        lines = (f"{' '.join(s)} ||| {' '.join(t)}\n" for s, t in zip(sources, targets))
        path.write_text("".join(lines))
        command = ["fast_align", "-i", str(path), "-d", "-o", "-v"]
        runs = ([*command, *reverse] for reverse in ([], ["-r"]))
        return [
            _read(subprocess.run(run, capture_output=True, check=True, text=True).stdout)
            for run in runs
        ]


def nltk_model(number, sources, targets):
    """nltk's Model 1 or 2, once for each direction."""
    from nltk import translate

    kind = getattr(translate, f"IBMModel{number}")
    both = []
    for order in (1, -1):
        # AlignedSent has the target first, and so do its links.
        corpus = [
            translate.AlignedSent([w.lower() for w in target], [w.lower() for w in source])
            for source, target in (pair[::order] for pair in zip(sources, targets))
        ]
        kind(corpus, ITERATIONS)
        both.append(
            [
                [(i, j)[::order] for j, i in pair.alignment if i is not None and j is not None]
                for pair in corpus
            ]
        )
    return both


PEERS = {
    "eflomal": eflomal,
    "fast_align": fast_align,
    "nltk 1": lambda *pairs: nltk_model(1, *pairs),
    "nltk 2": lambda *pairs: nltk_model(2, *pairs),
}


def _read(text):
    return [
        [tuple(map(int, link.split("-"))) for link in line.split()] for line in text.splitlines()
    ]


def works_of(name, sources, targets):
    """The one work of a peer; sources and targets are lists of lists of words."""
    if name != "fast_align":
        __import__(name.split()[0])
    return {ALIGN: lambda: PEERS[name](sources, targets)}


if __name__ == "__main__":
    serve(works_of)
