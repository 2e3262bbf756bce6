"""Word aligner: both directions, trained on sentence pairs and applied to any."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.batches import Batch, each_pair, make_batches, rows_of_batches
from keras_attn.alignment.direction import Direction
from keras_attn.alignment.joint_links import joint_links
from keras_attn.alignment.options import AlignerOptions
from keras_attn.alignment.symmetrization import ONE_DIRECTION, check_symmetrization, symmetrize
from keras_attn.alignment.training import train
from keras_attn.alignment.unseen import unseen_probabilities
from keras_attn.alignment.vocabulary import Vocabulary

JOINT = "joint"
DECODINGS = (JOINT, "posterior", "viterbi")
Sentences = Sequence[Sequence[str]]


class _Corpus(NamedTuple):
    """Sentences of a training, what came of it, and the batches of both directions."""

    sources: list[tuple[str, ...]]
    targets: list[tuple[str, ...]]
    directions: tuple[Direction, Direction]
    batches: tuple[list[Batch], list[Batch]]

    def is_of(self, sources, targets, directions) -> bool:
        """Whether it is the corpus of these sentences, on which these directions were trained."""
        return (
            self.directions == directions
            and self.sources == _copied(sources)
            and self.targets == _copied(targets)
        )


class Aligner:
    """Word aligner of two languages.

    `Aligner.train` makes one from sentence pairs, `load_aligner` from a folder.

    Args:
        forward: `Direction` of the target given the source.
        backward: `Direction` of the source given the target.
        vocabularies: pair of `Vocabulary`, of the source and of the target.
        options: `AlignerOptions` of its training.
        log_likelihoods: float (iterations, 2), nats. Of both directions before each iteration.

    Example:
        >>> sources = [["the", "house"], ["the", "book"], ["a", "book"]]
        >>> targets = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]]
        >>> aligner = Aligner.train(sources, targets)
        >>> aligner.align([["a", "house"]], [["ein", "Haus"]])
        [[(0, 0), (1, 1)]]
    """

    def __init__(self, forward, backward, vocabularies, options, log_likelihoods=None):
        self.forward, self.backward = forward, backward
        self.vocabularies, self.options = tuple(vocabularies), options
        self.log_likelihoods = np.zeros((0, 2)) if log_likelihoods is None else log_likelihoods
        self._corpus = None

    @classmethod
    def train(
        cls,
        sources: Sentences,
        targets: Sentences,
        options: AlignerOptions | None = None,
        progress=None,
    ) -> "Aligner":
        """Trains an aligner.

        Args:
            sources, targets: sentences, each a sequence of words; pairs without words are ignored.
            options: `AlignerOptions`. Default: an HMM.
            progress: called with what is done, the steps done and all steps; or None.

        Raises:
            ValueError: other lengths, or no pair with words ("Expected a pair of sentences with
                words. Received: 0 of 3 pairs").
        """
        _check_lengths(sources, targets)
        if not any(map(min, map(len, sources), map(len, targets))):
            raise ValueError(
                f"Expected a pair of sentences with words. Received: 0 of {len(sources)} pairs"
            )
        options = options or AlignerOptions()
        vocabularies = Vocabulary.of(sources), Vocabulary.of(targets)
        encoded = _encode(vocabularies, (sources, targets))
        trained = train(encoded[0], encoded[1], vocabularies, options, progress)
        aligner = cls(
            trained.forward, trained.backward, vocabularies, options, trained.log_likelihoods
        )
        directions = trained.forward, trained.backward
        aligner._corpus = _Corpus(_copied(sources), _copied(targets), directions, trained.batches)
        return aligner

    def align(
        self,
        sources: Sentences,
        targets: Sentences,
        symmetrization: str = "grow-diag-final-and",
        decoding: str | None = None,
        progress=None,
    ) -> list[list[tuple[int, int]]]:
        """Links of sentence pairs, also of others than those of the training.

        Pairs of the training are aligned faster: the aligner keeps them encoded, with four bytes
        for each two words beside each other in either direction. A loaded one does not.

        Args:
            sources, targets: sentences, each a sequence of words.
            symmetrization: a key of `SYMMETRIZATIONS`.
            decoding: "joint", the most probable links in both directions together, see
                `joint_links`; "posterior", the most probable link of each word in either direction;
                or "viterbi", the most probable alignment of the sentence, which differs for the HMM
                only. None is "joint", and "posterior" for one direction alone.
            progress: called with what is done, the steps done and all steps; or None.

        Returns:
            for each pair its links, (source word, target word) from 0, sorted; none where a
            sentence has no words.

        Raises:
            ValueError: other lengths, or an unknown symmetrization or decoding.
        """
        check_symmetrization(symmetrization)
        if decoding is None:
            decoding = "posterior" if symmetrization in ONE_DIRECTION else JOINT
        links: list[list[tuple[int, int]]] = [[] for _ in sources]
        for row, forward, backward in self.directed(sources, targets, decoding, progress):
            places = np.argwhere(symmetrize(forward, backward, symmetrization))
            links[row] = [(i, j) for i, j in places.tolist()]
        return links

    def directed(self, sources, targets, decoding=JOINT, progress=None):
        """Links of both directions, of the pairs where both sentences have words, in any order.

        Args:
            sources, targets, decoding, progress: see `align`.

        Yields:
            tuple of the row of the pair, and bool (S, T) of the target given the source and of the
            source given the target.
        """
        if decoding not in DECODINGS:
            raise ValueError(f"Expected a decoding of {', '.join(DECODINGS)}. Received: {decoding}")
        (forward, batches), (backward, swapped) = self._directions(sources, targets, progress)
        for number, (batch, swapped_batch) in enumerate(zip(batches, swapped, strict=True)):
            if decoding == JOINT:
                posteriors = forward.posteriors(batch), backward.posteriors(swapped_batch)
                joint = joint_links(batch, *posteriors)
                cells = zip(
                    each_pair(batch, joint[0]), each_pair(swapped_batch, joint[1]), strict=True
                )
                matrices = ((first[:, 1:], second[:, 1:]) for (_, first), (_, second) in cells)
            else:
                given_source = _matrices(batch, forward.links(batch, decoding))
                given_target = _matrices(swapped_batch, backward.links(swapped_batch, decoding))
                matrices = zip(given_source, given_target, strict=True)
            for row, (first, second) in zip(batch.rows.tolist(), matrices, strict=True):
                yield row, first.T, second
            if progress is not None:
                progress("aligning", number + 1, len(batches))

    def posteriors(self, sources, targets, progress=None):
        """Probabilities of links, of the pairs where both sentences have words, in any order.

        Args:
            sources, targets, progress: see `align`.

        Yields:
            tuple of the row of the pair, float (S, T) of the target given the source, whose columns
            sum to 1 at most, and float (S, T) of the source given the target, whose rows do.
        """
        (forward, batches), (backward, swapped) = self._directions(sources, targets, progress)
        for number, (batch, swapped_batch) in enumerate(zip(batches, swapped, strict=True)):
            given_source = each_pair(batch, forward.posteriors(batch))
            given_target = each_pair(swapped_batch, backward.posteriors(swapped_batch))
            for (row, first), (_, second) in zip(given_source, given_target, strict=True):
                yield row, first[:, 1:].T, second[:, 1:]
            if progress is not None:
                progress("scoring", number + 1, len(batches))

    def _directions(self, sources, targets, progress):
        """Both directions, each with its batches of sentences."""
        _check_lengths(sources, targets)
        directions = self.forward, self.backward
        if self._corpus is not None and self._corpus.is_of(sources, targets, directions):
            return list(zip(directions, self._corpus.batches))
        return self._applied_to(sources, targets, progress)

    def _applied_to(self, sources, targets, progress):
        """Both directions with entries for new sentences, each with the batches of these."""
        sides = sources, targets
        vocabularies = tuple(
            vocabulary.extended(side)
            for vocabulary, side in zip(self.vocabularies, sides, strict=True)
        )
        encoded = _encode(vocabularies, sides)
        rows = rows_of_batches(*encoded)
        if progress is not None:
            progress("aligning", 0, len(rows))
        return [
            self._applied(direction, encoded, rows, vocabularies, order)
            for direction, order in ((self.forward, 1), (self.backward, -1))
        ]

    def _applied(self, direction, encoded, rows, vocabularies, order):
        """A direction with entries for every pair of words of new sentences, and their batches."""
        sizes = [len(vocabulary.words) for vocabulary in self.vocabularies][::order]
        batches, keys = make_batches(*encoded[::order], rows, direction.keys)
        trained, new = direction.keys, keys[len(direction.keys) :]
        values = unseen_probabilities(
            trained,
            direction.lexicon.values,
            new,
            vocabularies[::order],
            sizes,
            self.options.stem_length,
        )
        return direction.extended(keys, values), batches


def _encode(vocabularies, sides):
    """`EncodedSentences` of both sides."""
    return [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, sides, strict=True)]


def _copied(sentences):
    return [tuple(words) for words in sentences]


def _matrices(batch, links):
    """For each pair the links as bool (T, S); links are those of all words, 0 for NULL."""
    places, begin = np.arange(1, 1 + batch.source_lengths.max()), 0
    ends = np.cumsum(batch.target_lengths).tolist()
    for end, length in zip(ends, batch.source_lengths.tolist(), strict=True):
        yield links[begin:end, None] == places[:length]
        begin = end


def _check_lengths(sources, targets):
    if len(sources) != len(targets):
        raise ValueError(
            f"Expected as many sources as targets. Received: {len(sources)} and {len(targets)}"
        )
