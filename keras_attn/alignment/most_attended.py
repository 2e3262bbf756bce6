"""Links of words from the attention of a translator that reads given pairs."""

import numpy as np

from keras_attn.alignment.symmetrization import symmetrize


def attention_links(weights, backward=None, symmetrization: str = "forward") -> np.ndarray:
    """Links of words from attention, bool (source words, target words).

    Forward, each target word is linked with the source word that it attends to most; backward,
    each source word with the target word that attends to it most. A word whose largest weight is
    the end's, or without any weight, has no link.

    Args:
        weights: float array (target words + 1, source words + 1), how much each target word and
            last the end attends to each source word and last its end.
        backward: float array (source words + 1, target words + 1) of a translator in the other
            direction, whose links are the backward ones; None for the same attention.
        symmetrization: of both, a key of `SYMMETRIZATIONS`.

    Raises:
        ValueError: no matrix, a backward one of another shape, an unknown symmetrization.

    Example:
        >>> weights = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]])
        >>> attention_links(weights).astype(int).tolist()
        [[1, 1], [0, 0]]
        >>> attention_links(weights, symmetrization="intersection").astype(int).tolist()
        [[0, 1], [0, 0]]
    """
    weights = np.asarray(weights)
    opposite = weights.T if backward is None else np.asarray(backward)
    if weights.ndim != 2 or opposite.shape != weights.shape[::-1] or not weights.size:
        raise ValueError(
            "Expected weights (T + 1, S + 1), and backward ones (S + 1, T + 1). "
            f"Received: {weights.shape} and {opposite.shape}"
        )
    return symmetrize(_most_attended(weights).T, _most_attended(opposite), symmetrization)


def _most_attended(weights):
    """bool (rows, columns) without the ends: the largest of each row, if it is a word's and > 0."""
    largest, rows = np.argmax(weights, axis=1)[:-1, None], weights[:-1]
    attended = np.any(rows > 0, axis=1, keepdims=True)
    return (largest == np.arange(weights.shape[1] - 1)) & attended
