"""Word alignment by going through all alignments of a pair, and symmetrization of sets.

An alignment is a tuple with 0 (NULL) or the source position from 1 for each target word.
"""

import itertools
import math


def uniform(alignment, length):
    """Model 1's probability of an alignment."""
    return (1 + length) ** -len(alignment)


def by_position(table):
    """Model 2's probability of an alignment, from a dict by (i, j, l, m), i and j from 0 and 1."""

    def probability(alignment, length):
        words = len(alignment)
        places = enumerate(alignment, start=1)
        return math.prod(table[i, j, length, words] for j, i in places)

    return probability


def by_jumps(weights, null):
    """The HMM's probability of an alignment, from a dict of weights by distance."""

    def probability(alignment, length):
        last, result = 0, 1.0
        for place in alignment:
            if place == 0:
                result *= null
                continue
            total = sum(weights[other - last] for other in range(1, 1 + length))
            result *= (1 - null) * weights[place - last] / total
            last = place
        return result

    return probability


def joint(source, target, lexicon, distortion):
    """dict from every alignment to p(target, alignment | source)."""
    words = ["NULL", *source]
    result = {}
    for alignment in itertools.product(range(len(words)), repeat=len(target)):
        lexical = math.prod(lexicon[f, words[i]] for f, i in zip(target, alignment))
        result[alignment] = lexical * distortion(alignment, len(source))
    return result


def posteriors(source, target, lexicon, distortion):
    """p(a_j = i | sentences), lists by target word, then place; and log p(target | source)."""
    alignments = joint(source, target, lexicon, distortion)
    total = sum(alignments.values())
    result = [[0.0] * (1 + len(source)) for _ in target]
    for alignment, probability in alignments.items():
        for word, place in enumerate(alignment):
            result[word][place] += probability / total
    return result, math.log(total)


def expectation_maximization(pairs, iterations):
    """Model 1's lexicon after some iterations from uniform: dict by (f, e)."""
    beside = {}
    for source, target in pairs:
        for e in ["NULL", *source]:
            beside.setdefault(e, set()).update(target)
    lexicon = {(f, e): 1 / len(words) for e, words in beside.items() for f in words}
    for _ in range(iterations):
        counts = dict.fromkeys(lexicon, 0.0)
        for source, target in pairs:
            expected, _ = posteriors(source, target, lexicon, uniform)
            for f, row in zip(target, expected):
                for e, share in zip(["NULL", *source], row):
                    counts[f, e] += share
        totals = {e: sum(counts[f, e] for f in words) for e, words in beside.items()}
        lexicon = {(f, e): counts[f, e] / totals[e] for f, e in counts}
    return lexicon


def grow_diag(forward, backward):
    """Grow-diag of two sets of links, by Koehn's loop."""
    links, either = forward & backward, forward | backward
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    while True:
        before = len(links)
        for i, j in sorted(either):
            for di, dj in steps if (i, j) in links else []:
                new = (i + di, j + dj)
                free = all(i != new[0] for i, _ in links) or all(j != new[1] for _, j in links)
                if new in either - links and free:
                    links = links | {new}
        if len(links) == before:
            return links


def final(links, directions, both):
    """Final (or final-and, with `both`) of sets of links."""
    for direction in directions:
        for new in sorted(direction - links):
            rows, columns = {i for i, _ in links}, {j for _, j in links}
            free = [new[0] not in rows, new[1] not in columns]
            if all(free) if both else any(free):
                links = links | {new}
    return links
