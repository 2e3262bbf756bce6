"""How fast an imported captioner of BLIP base's shape captions, beside transformers on torch.

Run as `python -m benchmarks.hub_captioner_speed --peer-python PYTHON`, one with transformers and
torch, which first writes a checkpoint of random weights: a ViT-B/16 on 384×384 pixels, BERT's 12
layers, 30,524 pieces. Both read it, and caption 32 pictures in 20 tokens, at once, or 4 one after
another; no caption ends before its last token.

Rates are captions a second, medians over the turns; in brackets the median over the turns of the
contender's rate by keras-attn's. This module needs NumPy alone.
"""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.race import OURS, Contender, Race, Results, python_with, race_command

BLIP, GPT2 = "blip", "gpt2"
WORKS = {
    f"{name}, batch {batch}": (beams, batch)
    for batch in (1, 32)
    for name, beams in (("greedy", 1), ("beam 4", 4))
}
"""Work -> (beams, pictures at once)."""
SHOW, CAPTION = "show", "captioning"


@dataclass(frozen=True)
class Task:
    """Sizes; by default BLIP base's, but for 384 pixels and pieces also ViT-GPT2's.

    Attributes:
        kind: "blip" or "gpt2".
        size: int. Height and width of pictures in pixels; 0: of the kind.
        vocabulary: int. 0: of the kind.
        layers, units, hidden, heads: int. Of encoder and decoder.
        patch: int. Pixels of a patch's side.
        length: int. Tokens of a caption.
        many, few: int. Pictures of a work that captions them at once, or one after another.
        cores: int. Threads that a contender may use.
    """

    kind: str = BLIP
    size: int = 0
    vocabulary: int = 0
    layers: int = 12
    units: int = 768
    hidden: int = 3072
    heads: int = 12
    patch: int = 16
    length: int = 20
    many: int = 32
    few: int = 4
    cores: int = 2

    def __post_init__(self):
        size, vocabulary = {BLIP: (384, 30524), GPT2: (224, 50257)}[self.kind]
        object.__setattr__(self, "size", self.size or size)
        object.__setattr__(self, "vocabulary", self.vocabulary or vocabulary)

    def items(self, work):
        """Captions of a work."""
        return self.few if WORKS[work][1] == 1 else self.many

    def images(self):
        """uint8 (many, size, size, 3)."""
        shape = (self.many, self.size, self.size, 3)
        return np.random.default_rng(1).integers(0, 256, shape, "uint8")


def works_of(task, tokens):
    """The works of a captioner by name.

    Args:
        task: `Task`.
        tokens: function of the first picture, the number of pictures and the width of the beam to
            the tokens of each caption.
    """

    def done(beams, batch):
        if batch == 1:
            return [len(tokens(place, 1, beams)[0]) for place in range(task.few)]
        return [len(tokens(0, task.many, beams)[0])]

    works = {name: partial(done, *how) for name, how in WORKS.items()}
    return works | {SHOW: lambda: [tokens(0, task.few, beams) for beams in (1, 4)]}


def measured(task, options, folder) -> tuple[Race, Results]:
    """The race and its results.

    Raises:
        ValueError: no Python has transformers.
    """
    python = python_with("transformers", options.pythons)
    if python is None:
        raise ValueError("Expected a --peer-python with transformers. Received: none")
    checkpoint = Path(folder) / "checkpoint"
    command = [python, "-m", "benchmarks.torch_hub_captioner", json.dumps(asdict(task))]
    subprocess.run([*command, str(checkpoint)], check=True, stdout=sys.stderr)
    settings = {CAPTION: {"folder": str(checkpoint)}}
    contenders = [
        Contender(OURS, None, "benchmarks.our_hub_captioner", settings),
        Contender(
            "transformers on torch", "transformers", "benchmarks.torch_hub_captioner", settings
        ),
    ]
    race = Race(task, contenders, options, folder)
    return race, race.run({CAPTION: tuple(WORKS)}, show=SHOW)


def compare(task, options, folder) -> str:
    """The table, and what the two agree on."""
    race, results = measured(task, options, folder)
    first, *others = results.answers.values()
    same = all(other == first for other in others)
    return f"{race.table(results, tuple(WORKS), digits=2)}\n\nequal tokens: {same}"


if __name__ == "__main__":
    race_command(__doc__, Task, compare, 5, tuple(WORKS))
