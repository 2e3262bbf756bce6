"""CLIPScore: a caption judged by a dual encoder, beside the picture and not beside references."""

from collections.abc import Sequence

import numpy as np

CLIP_PROMPT = "A photo depicts "
"""Before every caption, candidates and references alike."""
WEIGHT = 2.5


def clip_score(images, captions):
    """CLIPScore of each caption: 2.5 · max(cos(picture, caption), 0).

    Args:
        images: float (N, P), vectors of pictures by CLIP; zeros for a picture that could not be
            read.
        captions: float (N, P), vectors of CLIP_PROMPT with a caption of each.

    Returns:
        float64 (N,), 0 to 2.5.

    Raises:
        ValueError: other shapes.

    Example:
        >>> clip_score([[3.0, 4.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 2.0]]).tolist()
        [1.5, 0.0]

    Source: Hessel et al. 2021, arXiv:2104.08718, 3.
    """
    return WEIGHT * np.maximum(_cosines(images, captions), 0)


def ref_clip_score(scores, captions, references: Sequence):
    """RefCLIPScore of each caption: harmonic mean of its CLIPScore and its best reference.

        2 s r / (s + r),  r = max(max over references of cos(caption, reference), 0)

    Args:
        scores: float (N,), of `clip_score`.
        captions: float (N, P), as there.
        references: for each caption, its references' vectors, float (n, P), n ≥ 1.

    Returns:
        float64 (N,); 0 where either is 0.

    Raises:
        ValueError: other shapes, or a caption without references.

    Example:
        >>> ref_clip_score([1.5], [[1.0, 0.0]], [[[0.0, 1.0], [3.0, 4.0]]]).round(3).tolist()
        [0.857]

    Source: Hessel et al. 2021, arXiv:2104.08718, 3.
    """
    scores, captions = np.asarray(scores, "float64"), np.asarray(captions, "float64")
    if scores.shape != captions.shape[:1]:
        raise ValueError(
            f"Expected a score for each of {len(captions)} captions. "
            f"Received: scores of shape {scores.shape}"
        )
    if len(references) != len(captions) or not all(len(own) for own in references):
        raise ValueError(
            f"Expected references for each of {len(captions)} captions. "
            f"Received: {[len(own) for own in references][:20]}"
        )
    best = np.array(
        [
            _cosines(np.broadcast_to(caption, np.shape(own)), own).max()
            for caption, own in zip(captions, references)
        ]
    )
    best = np.maximum(best, 0)
    total = np.where(scores + best > 0, scores + best, 1)
    return 2 * scores * best / total


def _cosines(first, other):
    """Cosine of each row with its partner; 0 beside a row of zeros."""
    first, other = np.asarray(first, "float64"), np.asarray(other, "float64")
    if first.ndim != 2 or first.shape != other.shape:
        raise ValueError(
            "Expected vectors of equal shape (N, P). "
            f"Received: shapes {first.shape} and {other.shape}"
        )
    lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(other, axis=-1)
    return (first * other).sum(-1) / np.where(lengths > 0, lengths, 1)
