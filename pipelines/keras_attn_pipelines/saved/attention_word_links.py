"""Links of sentence pairs from the attention of exported translators."""

from itertools import product
from typing import NamedTuple

import numpy as np

from keras_attn.alignment import SentencePairs, alignment_scores
from keras_attn.saved.attended_pair import AttendedPair, links_of

MEAN, STEPS = "mean", (False, True)
"""What tables call the mean over layers and heads, and the choices of the step."""


class Attended(NamedTuple):
    """What one or two translators attend to in pairs, or why they could not read a pair.

    Attributes:
        forward: list of what the translator from source to target attends to in each pair:
            `AttendedPair`, or float32 (T + 1, S + 1) of one choice, or str.
        backward: the same of one from target to source, or None.
    """

    forward: list
    backward: list | None

    @classmethod
    def of(
        cls, pairs: SentencePairs, forward, backward=None, choice=None, every: bool = False
    ) -> "Attended":
        """Reads pairs with one or two exported translators, folders or names.

        Args:
            pairs: `SentencePairs`.
            forward: folder or name of a translator from source to target.
            backward: of one from target to source, or None.
            choice: `Choice` that is kept of each pair.
            every: whether all choices are kept, which takes as much more memory.

        Raises:
            ValueError: not an exported text-to-text model, one without the signature `align`, or
                no such layer or head.
        """
        choice = choice or Choice(None, None, False)
        read = _read(forward, pairs.sources, pairs.targets, choice, every)
        if backward is None:
            return cls(read, None)
        return cls(read, _read(backward, pairs.targets, pairs.sources, choice, every))

    def errors(self) -> list[str]:
        """Why pairs could not be read, each with its number."""
        sides = [self.forward, *([] if self.backward is None else [self.backward])]
        rows = [next((pair for pair in row if isinstance(pair, str)), "") for row in zip(*sides)]
        return [f"pair {number}: {error}" for number, error in enumerate(rows, 1) if error]

    def links(self, layer, head, reading, symmetrization) -> list[list[tuple[int, int]]]:
        """Links of each pair, sorted; none of a pair that could not be read."""
        choice = Choice(layer, head, reading)
        others = self.forward if self.backward is None else self.backward
        links: list[list[tuple[int, int]]] = []
        for pair, other in zip(self.forward, others):
            if isinstance(pair, str) or isinstance(other, str):
                links.append([])
                continue
            back = None if self.backward is None else _matrix(other, choice)
            links.append(links_of(_matrix(pair, choice), back, symmetrization))
        return links

    def scores(self, choice: "Choice", links) -> list[list[float]]:
        """How much the words of each link attend to each other; with two models the mean."""
        others = self.forward if self.backward is None else self.backward
        scores: list[list[float]] = []
        for pair, other, linked in zip(self.forward, others, links, strict=True):
            scores.append([])
            if linked:
                weights = _matrix(pair, choice).T
                if self.backward is not None:
                    weights = (weights + _matrix(other, choice)) / 2
                scores[-1] = [float(weights[source, target]) for source, target in linked]
        return scores

    def rates(self, gold, symmetrization) -> dict["Choice", float]:
        """Alignment error rate of every choice of layer, head and step; none with two models."""
        shapes = {
            pair.predicting.shape[:2] for pair in self.forward if isinstance(pair, AttendedPair)
        }
        if self.backward is not None or not shapes:
            return {}
        ((layers, heads),) = shapes
        return {
            choice: alignment_scores(self.links(*choice, symmetrization), gold).aer
            for choice in choices(layers, heads)
        }


class Choice(NamedTuple):
    """Whose attention is taken: layer and head from 1, None for the mean, and the step."""

    layer: int | None
    head: int | None
    reading: bool

    @property
    def name(self) -> str:
        """What tables call the layer and the head."""
        named = zip(("layer", "head"), self[:2])
        return ", ".join(f"{kind} {number}" for kind, number in named if number) or MEAN

    @property
    def step(self) -> str:
        """What tables call the step."""
        return "reading" if self.reading else "predicting"


def choices(layers: int, heads: int) -> list[Choice]:
    """All choices, the means first; a mean over one is left out."""
    numbers: list[list[int | None]] = []
    for count in (layers, heads):
        numbers.append([None, *range(1, count + 1)] if count > 1 else [None])
    return [
        Choice(layer, head, reading) for (layer, head), reading in product(product(*numbers), STEPS)
    ]


def rates_table(rates: dict[Choice, float], symmetrization: str) -> str:
    """Error rates by layer and head, when a word is predicted and when it is read."""
    lines = [f"AER, {symmetrization}", f"{'attention':20}{'predicting':>12}{'reading':>12}"]
    for choice, rate in rates.items():
        if not choice.reading:
            other = rates[choice._replace(reading=True)]
            lines.append(f"{choice.name:20}{rate:12.3f}{other:12.3f}")
    best = min(rates, key=lambda choice: rates[choice])
    return "\n".join([*lines, f"lowest: {best.name}, {best.step}"])


def _matrix(pair, choice):
    """The attention of a pair, float32 (T + 1, S + 1)."""
    return pair.matrix(*choice) if isinstance(pair, AttendedPair) else pair


def _read(folder, sources, targets, choice, every):
    """For each pair `AttendedPair`, or its chosen attention alone, or why it could not be read."""
    from keras_attn.saved import load

    model = load(folder)
    read: list[AttendedPair | np.ndarray | str] = []
    texts = [[" ".join(words) for words in side] for side in (sources, targets)]
    for words, pair in zip(zip(sources, targets), model.align(*texts)):
        if not isinstance(pair, str):
            matrix = pair.matrix(*choice)
            same = (pair.source, pair.target) == tuple(map(tuple, words))
            kept = pair if every else matrix
            read.append(kept if same else "a word with white space in it, or an empty one")
        else:
            read.append(pair)
    return read
