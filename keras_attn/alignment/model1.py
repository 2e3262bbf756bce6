"""IBM Model 1: every source position is equally likely."""

import numpy as np

from keras_attn.alignment.expectation import (
    Expectation,
    independent_expectation,
    most_probable,
)


class UniformDistortion:
    """IBM Model 1's distortion: every source position, NULL included, is equally likely.

        p(f, a | e) = Π_j t(f_j | e_{a_j}) / (1 + l)

    Source: Brown et al. 1993, Computational Linguistics 19(2), 4.1. Differs: the probability ε of
    the target length is left out.
    """

    def empty_counts(self):
        """Nothing is counted."""
        return {}

    def expect(self, batch, lexical, counts=None) -> Expectation:
        """Posteriors of a batch.

        Args:
            batch: `Batch`.
            lexical: float (C,). t(f_j | e_i) of each cell; becomes the posteriors.
            counts: unused.
        """
        posteriors, likelihoods = independent_expectation(batch, lexical)
        positions = batch.target_lengths * np.log1p(batch.source_lengths)
        return Expectation(posteriors, likelihoods - positions)

    def best(self, batch, lexical) -> np.ndarray:
        """The most probable alignment, int64, see `most_probable`."""
        return most_probable(batch, lexical)

    def update(self, counts, prior=0.0):
        """Nothing is learned."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What is to be saved: nothing."""
        return {}

    @classmethod
    def of_arrays(cls, arrays, null_probability):
        """The distortion that was saved."""
        return cls()

    @classmethod
    def of_batches(cls, batches, null_probability):
        """The distortion before training."""
        return cls()
