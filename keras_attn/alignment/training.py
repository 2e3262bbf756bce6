"""Expectation–maximization of both directions together."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_attn.alignment.batches import Batch, make_batches, rows_of_batches
from keras_attn.alignment.compiled import compiled
from keras_attn.alignment.direction import Direction, make_distortion
from keras_attn.alignment.model1 import UniformDistortion
from keras_attn.alignment.options import AlignerOptions
from keras_attn.alignment.spelling import Spelling
from keras_attn.alignment.stems import Stems

Progress = Callable[[str, int, int], None]
"""Is called with what is done, and how many of how many steps have been."""


class Trained(NamedTuple):
    """Both directions after training.

    Attributes:
        forward: `Direction` of the target given the source.
        backward: `Direction` of the source given the target.
        log_likelihoods: float (iterations, 2), nats. Of both directions before each iteration.
        batches: list of `Batch` of each direction. What they were trained on.
    """

    forward: Direction
    backward: Direction
    log_likelihoods: np.ndarray
    batches: tuple[list[Batch], list[Batch]]


def train(sources, targets, vocabularies, options: AlignerOptions, progress=None) -> Trained:
    """Trains both directions.

    Args:
        sources, targets: `EncodedSentences`, as many.
        vocabularies: pair of `Vocabulary`.
        options: `AlignerOptions`.
        progress: `Progress`, or None.

    Returns:
        `Trained`.
    """
    rows = rows_of_batches(sources, targets)
    first = options.first_iterations
    likelihoods = np.zeros((first + options.iterations, 2))
    if progress is not None:
        progress("training", 0, len(likelihoods) * len(rows))
    sides = ((sources, targets), (targets, sources))
    made = [make_batches(*side, rows) for side in sides]
    directions = [Direction(keys, UniformDistortion()) for _, keys in made]
    smoothings = _smoothings(made, vocabularies, options)
    batches = list(zip(made[0][0], made[1][0], strict=True))
    for iteration in range(len(likelihoods)):
        if iteration == first:
            _start_model(directions, made, options)
        in_model = iteration >= first
        agreement, prior = in_model and options.agreement, in_model * options.variational
        _iterate(directions, batches, agreement, progress, (iteration, len(likelihoods)))
        likelihoods[iteration] = [direction.log_likelihood for direction in directions]
        for direction, own in zip(directions, smoothings, strict=True):
            direction.end_iteration(own, prior)
    if not options.iterations:
        _start_model(directions, made, options)
    return Trained(directions[0], directions[1], likelihoods, (made[0][0], made[1][0]))


def _smoothings(made, vocabularies, options):
    """What smooths the counts of each direction, a list of `Stems` and `Spelling`."""
    smoothings: tuple[list, list] = [], []
    for own, (_, keys), order in zip(smoothings, made, (1, -1), strict=True):
        sides = vocabularies[::order]
        if options.stem_weight:
            own.append(Stems(keys, *sides, options.stem_length, options.stem_weight))
        if options.spelling_weight:
            own.append(Spelling(keys, *sides, options.spelling_weight))
    return smoothings


def _start_model(directions, made, options):
    """Replaces Model 1's distortion by the model's."""
    for direction, (batches, _) in zip(directions, made, strict=True):
        direction.distortion = make_distortion(options.model, batches, options.null_probability)


def _iterate(directions, batches, agreement, progress, done):
    """Counts what both directions expect of all batches."""
    iteration, iterations = done
    for direction in directions:
        direction.start_iteration()
    for number, pair in enumerate(batches):
        posteriors = [
            direction.expect(batch) for direction, batch in zip(directions, pair, strict=True)
        ]
        if agreement:
            _agree(*posteriors, pair[0].starts, pair[0].source_lengths, pair[0].target_lengths)
        for direction, batch, expected in zip(directions, pair, posteriors, strict=True):
            direction.count_links(batch, expected)
        if progress is not None:
            step = iteration * len(batches) + number + 1
            progress("training", step, iterations * len(batches))


@compiled
def _agree(forward, backward, starts, lengths, word_counts):
    """Multiplies the posteriors of links of both directions, (C,) and (C',), by each other.

    The other arguments are those of the batch of the first: starts, and source and target words.
    """
    end = 0
    for pair in range(len(lengths)):
        length, count, first = lengths[pair], word_counts[pair], end
        end = first + length * (1 + count)
        given = forward[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        other = backward[first:end].reshape((length, 1 + count))
        for word in range(count):
            for position in range(length):
                agreed = given[word, 1 + position] * other[position, 1 + word]
                given[word, 1 + position] = other[position, 1 + word] = agreed
