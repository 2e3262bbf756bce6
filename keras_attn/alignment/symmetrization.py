"""Symmetrization: one alignment from those of both directions."""

import numpy as np

_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def grow_diag(forward, backward):
    """The intersection, and links of the union beside it that align a word that has no link yet."""
    links = forward & backward
    candidates = forward | backward
    if np.array_equal(links, candidates):
        return links
    sources, targets = links.any(axis=1), links.any(axis=0)
    grown = True
    while grown:
        grown = False
        for source in range(len(sources)):
            for target in range(len(targets)):
                if links[source, target] and _grow(
                    links, candidates, sources, targets, source, target
                ):
                    grown = True
    return links


def grow_diag_final(forward, backward):
    """Grow-diag, then links of either direction that align a word that has no link yet."""
    return _final(grow_diag(forward, backward), (forward, backward), np.logical_or)


def grow_diag_final_and(forward, backward):
    """Grow-diag, then links of either direction between two words that have no link yet."""
    return _final(grow_diag(forward, backward), (forward, backward), np.logical_and)


SYMMETRIZATIONS = {
    "intersection": np.logical_and,
    "union": np.logical_or,
    "grow-diag": grow_diag,
    "grow-diag-final": grow_diag_final,
    "grow-diag-final-and": grow_diag_final_and,
    "forward": lambda forward, backward: forward.copy(),
    "backward": lambda forward, backward: backward.copy(),
}
"""Symmetrizations by name; "forward" and "backward" are one direction alone."""
ONE_DIRECTION = ("forward", "backward")


def symmetrize(forward, backward, symmetrization="grow-diag-final-and"):
    """One alignment from those of both directions.

    Args:
        forward: bool (S, T). Links of the target given the source.
        backward: bool (S, T). Links of the source given the target.
        symmetrization: a key of `SYMMETRIZATIONS`.

    Returns:
        bool (S, T).

    Raises:
        ValueError: unknown symmetrization, or other shapes ("Expected two alignments of one shape.
            Received: (2, 3) and (3, 2)").

    Example:
        >>> forward = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]], bool)
        >>> backward = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 1]], bool)
        >>> symmetrize(forward, backward, "grow-diag").astype(int).tolist()
        [[1, 0, 0], [0, 1, 1], [0, 0, 1]]

    Source: Koehn et al. 2003, N03-1017; Koehn et al. 2005, IWSLT, for final-and.
    """
    check_symmetrization(symmetrization)
    forward, backward = np.asarray(forward, bool), np.asarray(backward, bool)
    if forward.shape != backward.shape or forward.ndim != 2:
        raise ValueError(
            f"Expected two alignments of one shape. Received: {forward.shape} and {backward.shape}"
        )
    return SYMMETRIZATIONS[symmetrization](forward, backward)


def check_symmetrization(name) -> None:
    """Raises ValueError for a symmetrization that there is not."""
    if name not in SYMMETRIZATIONS:
        raise ValueError(
            f"Expected a symmetrization of {', '.join(SYMMETRIZATIONS)}. Received: {name}"
        )


def _grow(links, candidates, sources, targets, source, target):
    """Adds the neighbors of a link that align a word without links; whether there were any."""
    grown = False
    for down, right in _NEIGHBORS:
        row, column = source + down, target + right
        if not (0 <= row < len(sources) and 0 <= column < len(targets)):
            continue
        fresh = candidates[row, column] and not links[row, column]
        if fresh and not (sources[row] and targets[column]):
            links[row, column] = sources[row] = targets[column] = grown = True
    return grown


def _final(links, directions, combine):
    """Adds links of each direction where one, or both, of the words have none."""
    sources, targets = links.any(axis=1), links.any(axis=0)
    for direction in directions:
        for row, column in np.argwhere(direction & ~links):
            if combine(not sources[row], not targets[column]):
                links[row, column] = sources[row] = targets[column] = True
    return links
