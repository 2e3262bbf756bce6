"""A model of one language given the other: a lexical table and a distortion."""

import numpy as np

from keras_attn.alignment.batches import words_of_keys
from keras_attn.alignment.conditional_table import ConditionalTable
from keras_attn.alignment.expectation import most_probable
from keras_attn.alignment.options import MODELS

FLOOR = 1e-12
"""Least probability of a pair of words that occur together; keeps sentences possible."""


class Direction:
    """A model of target sentences given source sentences.

    Args:
        keys: int64 (E,), sorted. Entries of the lexical table, see `pair_keys`.
        distortion: of any model, such as `UniformDistortion`.
        values: float (E,). t(f | e) of the entries. Default: uniform for each e.

    Attributes:
        lexicon: `ConditionalTable`, t(f | e).
        distortion: `UniformDistortion`, `PositionDistortion` or `JumpDistortion`.
    """

    def __init__(self, keys, distortion, values=None):
        self.keys, self.distortion = keys, distortion
        self.lexicon = ConditionalTable(words_of_keys(keys)[0], values)
        self.start_iteration()

    def start_iteration(self) -> None:
        """Sets the expected counts to 0."""
        self._links = np.zeros(len(self.lexicon))
        self._counts = self.distortion.empty_counts()
        self.log_likelihood = 0.0

    def expect(self, batch):
        """Posteriors of a batch (C,); its jumps or positions are counted."""
        expectation = self.distortion.expect(batch, self._lexical(batch), self._counts)
        self.log_likelihood += float(expectation.log_likelihoods.sum())
        return expectation.posteriors

    def count_links(self, batch, posteriors) -> None:
        """Counts the expected links of a batch, (C,)."""
        batch.add_counts(self._links, posteriors)

    def end_iteration(self, smoothings=(), prior=0.0) -> None:
        """Sets the probabilities from the counts.

        Args:
            smoothings: `Stems` and `Spelling` that smooth the counts, one after the other.
            prior: float ≥ 0. Concentration of the Dirichlet priors.
        """
        links = self._links
        for smoothing in smoothings:
            links = smoothing.smoothed(links)
        self.lexicon.update(links, prior)
        self.distortion.update(self._counts, prior)

    def extended(self, keys, values) -> "Direction":
        """The same model with more entries: keys (E', ), those of this model first."""
        values = np.append(self.lexicon.values, values)
        return Direction(keys, self.distortion, values)

    def links(self, batch, decoding):
        """For each target word 0 for NULL, or 1 + its source word: int64, pair by pair.

        Args:
            batch: `Batch`.
            decoding: "posterior", the most probable link of each word, or "viterbi", the most
                probable alignment of the sentence.
        """
        if decoding == "viterbi":
            return self.distortion.best(batch, self._lexical(batch))
        return most_probable(batch, self.posteriors(batch))

    def posteriors(self, batch):
        """p(a_j = i | sentences) of each cell, float (C,)."""
        return self.distortion.expect(batch, self._lexical(batch)).posteriors

    def _lexical(self, batch):
        """t(f_j | e_i) of each cell, float (C,)."""
        return batch.lexical(self.lexicon.values, FLOOR)


def make_distortion(model, batches, null_probability):
    """The distortion of a model before training."""
    return MODELS[model].of_batches(batches, null_probability)
