"""Declared views of texts, trees and steps."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keras_attn.viz.declared.axes import Axis, strings_of
from keras_attn.viz.declared.declared_view import DeclaredView
from keras_attn.viz.declared.plain import Output
from keras_attn.viz.declared.weights import check_places, check_shares, weights_of
from keras_attn.viz.labels import SPECIAL
from keras_attn.viz.quantity import CONTRIBUTION, SHARE
from keras_attn.viz.views.shaded_view import ShadedView
from keras_attn.viz.views.track_view import TrackView
from keras_attn.viz.views.tree_view import TreeView


@dataclass(frozen=True)
class ShadedText(DeclaredView):
    """A text, each word shaded by its weight; its start and end are left out.

    Attributes:
        weights: float (S,), shares from 0 to 1.
        words: `Axis`; a word has the sum of its pieces' weights.
        signed: whether the weights are contributions to the label's logit, of any sign and size.
    """

    kind: ClassVar[str] = "shaded_text"
    weights: Output
    words: Axis
    signed: bool = False

    def read(self, answer, asked, index=0):
        weights = weights_of(answer, self.weights, (1,)).astype("float64")
        if not self.signed:
            check_shares(self.weights, weights)
        read = self.words.read(answer, asked, len(weights))
        check_places(self.weights, weights, {0: read.places})
        words = [word for word in zip(*read) if word[0] not in SPECIAL]
        names = tuple(name for name, _ in words)
        sums = np.array([weights[places].sum() for _, places in words])
        return ShadedView(self.name, names, sums, CONTRIBUTION if self.signed else SHARE)


@dataclass(frozen=True)
class Tree(DeclaredView):
    """A tree over words, and the words that each of its brackets looked at.

    Attributes:
        weights: float (n, T, S) of several trees, of which one is taken:
            a row for each symbol.
        symbols: string (n, T): "(NP", ")NP" and others, one for each word.
        words: string (S,), and last the end.
        tags: string (S,): the tag of each word.
    """

    kind: ClassVar[str] = "tree"
    weights: Output
    symbols: Output
    words: Output
    tags: Output

    def read(self, answer, asked, index=0):
        words, tags = (tuple(strings_of(answer, output)) for output in (self.words, self.tags))
        symbols = tuple(strings_of(answer, self.symbols, index=index))
        if len(tags) != len(words) - 1:
            raise ValueError(
                f"Expected as many {self.tags} as {self.words} before the end. "
                f"Received: {len(tags)} and {len(words)}, the end included"
            )
        weights = weights_of(answer, self.weights, (3,))[index]
        check_places(self.weights, weights, {0: [range(len(symbols))], 1: [range(len(words))]})
        weights = weights[: len(symbols), : len(words)]
        return TreeView(self.name, words[:-1], tags, symbols, weights)


@dataclass(frozen=True)
class Tracks(DeclaredView):
    """Where the heads of a memory wrote and read in each step.

    Attributes:
        write: float (T, H, N): how much of each slot each head wrote.
        read_from: float (T, R, N): how much of each slot each head read.
        steps: `Axis`, the word of each step.
    """

    kind: ClassVar[str] = "tracks"
    write: Output
    read_from: Output
    steps: Axis

    def read(self, answer, asked, index=0):
        write, read = (weights_of(answer, name, (3,)) for name in (self.write, self.read_from))
        steps = self.steps.read(answer, asked, len(write)).names
        for name, weights in ((self.write, write), (self.read_from, read)):
            check_places(name, weights, {0: [range(len(steps))]})
        return TrackView(self.name, steps, write[: len(steps)], read[: len(steps)])
