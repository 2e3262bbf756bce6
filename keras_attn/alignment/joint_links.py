"""Links from the posteriors of both directions together."""

import numpy as np

from keras_attn.alignment.compiled import compiled

NULL_SHARE, SEVERAL = 0.5, 0.4
"""How much a posterior of NULL counts beside that of a link; that of further links of a word."""


def joint_links(batch, forward, backward):
    """Links of both directions, each of which heeds the other.

    The probability of a link is the geometric mean of its posteriors in both directions. A word
    is linked to the most probable one, unless NULL's posterior is more than twice as high, and to
    all of more than 0.4.

    Args:
        batch: `Batch` of the target given the source.
        forward: float (C,). Posteriors of its cells.
        backward: float (C',). Posteriors of the cells of the source given the target.

    Returns:
        bool (C,) and (C',). Links of both directions, none to NULL.

    Source: Matusov et al. 2004, C04-1032, and DeNero and Klein 2007, P07-1003, 4.2, combine
    posteriors; this rule is ours.
    """
    links = np.zeros(len(forward), bool), np.zeros(len(backward), bool)
    sizes = batch.starts, batch.source_lengths, batch.target_lengths
    _link(forward, backward, *sizes, NULL_SHARE, SEVERAL, *links)
    return links


@compiled
def _link(
    forward, backward, starts, lengths, word_counts, null_share, several, links, backward_links
):
    """Sets the links, bool (C,) and (C',); the other arguments are those of `joint_links`."""
    end = 0
    for pair in range(len(lengths)):
        length, count, first = lengths[pair], word_counts[pair], end
        end = first + length * (1 + count)
        given = forward[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        other = backward[first:end].reshape((length, 1 + count))
        to_source = links[starts[pair] : starts[pair + 1]].reshape((count, 1 + length))
        to_target = backward_links[first:end].reshape((length, 1 + count))
        for word in range(count):
            best, place = null_share * given[word, 0], -1
            for position in range(length):
                joint = np.sqrt(given[word, 1 + position] * other[position, 1 + word])
                if joint > several:
                    to_source[word, 1 + position] = to_target[position, 1 + word] = True
                if joint > best:
                    best, place = joint, position
            if place >= 0:
                to_source[word, 1 + place] = True
        for position in range(length):
            best, place = null_share * other[position, 0], -1
            for word in range(count):
                joint = np.sqrt(given[word, 1 + position] * other[position, 1 + word])
                if joint > best:
                    best, place = joint, word
            if place >= 0:
                to_target[position, 1 + place] = True
