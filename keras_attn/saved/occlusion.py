"""What changes an answer: parts of an input are left out one by one, and the answer scored again.

Source: Zeiler and Fergus 2014, arXiv:1311.2901, section 4.2, for pictures; Li et al. 2016,
arXiv:1612.08220, for words.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from keras_attn.contracts import ERROR, IMAGE, SCORE, TOKEN_SCORES
from keras_attn.saved.inputs import encoded_text, in_words, picture_bytes
from keras_attn.viz.declared.axes import Names, Pieces
from keras_attn.viz.labels import UNSPACED, is_word
from keras_attn.viz.quantity import ALL, FALL
from keras_attn.viz.thumbnail import small
from keras_attn.viz.views import PictureView, ShadedView, TokenView, View

NAME = "What changes the answer"
CELLS = 8
"""Regions of a picture in each direction; a cover reaches half a region beyond each side."""
SIDE = 448
"""Longest side of a picture that is covered, in pixels."""
LONG_NAME = 24
"""Characters of a part from which on parts are named in rows."""
LINE = re.compile(r"[^\n]+")
WORD = re.compile(rf"{UNSPACED.pattern}|[^\s{UNSPACED.pattern[1:-1]}]+")
"""A word, or a character of a script without spaces."""
SAME = 0.02
"""Nats by which the scores of one text may differ between decoding and scoring."""


class Parts(NamedTuple):
    """An input, and the same without each of its parts.

    Attributes:
        names: of the parts; none of a picture, whose parts are its regions row by row.
        whole: what signatures are fed.
        without: the same for each part that is left out.
    """

    names: tuple[str, ...]
    whole: Mapping[str, Any]
    without: Sequence[Mapping[str, Any]]


def parts_of(fed: Mapping[str, Any], name: str, metadata: Mapping[str, Any]) -> Parts:
    """The regions of a picture, the facts of a set, the lines of a text, or the words of a line.

    A region is covered with the picture's mean color.

    Args:
        fed: what signatures are fed.
        name: of the input whose parts are left out.
        metadata: of the service.

    Raises:
        ValueError: an input of a single part.

    Example:
        >>> [fed["source"] for fed in parts_of({"source": b"two  dogs"}, "source", {}).without]
        [b'  dogs', b'two  ']
    """
    value, words = fed[name], in_words(fed, metadata)[name]
    if name == IMAGE:
        pixels = np.asarray(small(words, SIDE))
        covered = ({**fed, IMAGE: picture_bytes(cover)} for cover in _covered(pixels))
        return Parts((), {**fed, IMAGE: picture_bytes(pixels)}, list(covered))
    if isinstance(words, list):
        names, without = words, [np.delete(value, place, axis=0) for place in range(len(words))]
    else:
        matches = list((LINE if "\n" in words else WORD).finditer(words))
        names = [match[0] for match in matches]
        without = [encoded_text(words[: match.start()] + words[match.end() :]) for match in matches]
    if len(names) < 2:
        raise ValueError(f"Expected an input of several parts. Received: {len(names)} in {name}")
    return Parts(tuple(names), fed, [{**fed, name: rest} for rest in without])


def score_drops(saved, parts: Parts, answer: str) -> np.ndarray:
    """How much less probable an answer is without each part.

    Args:
        saved: `Saved` with a signature "score".
        parts: of the input.
        answer: a text or a label.

    Returns:
        float32 (parts, T), the fall of each token's log-probability in nats; T = 1 where the
        service scores the answer as a whole.

    Raises:
        ValueError: an input without one of its parts, or the answer, that cannot be scored.
    """
    whole, *without = _scored(saved, [parts.whole, *parts.without], answer)
    return whole - np.stack(without)


def occlusion_view(
    saved, fed: Mapping[str, Any], explained: Mapping[str, Any], answer: str
) -> View:
    """What changes each word of an answer, or a label.

    Args:
        saved: `Saved` with a signature "score".
        fed: what signatures are fed.
        explained: what its signature `explain` answered, if it has one.
        answer: a text or a label.

    Raises:
        ValueError: see `score_drops` and `parts_of`.
    """
    parts = parts_of(fed, saved.scored[0], saved.metadata)
    rows = _words(saved.views, explained, _scored(saved, [fed], answer)[0], answer)
    by_token = score_drops(saved, parts, answer)
    steps = np.stack([by_token[:, places].sum(axis=1) for places in rows.places])
    is_whole = rows.names == (answer,)
    if not parts.names:
        pixels = in_words(parts.whole, saved.metadata)[IMAGE]
        maps = np.maximum(steps, 0).reshape(1, 1, -1, CELLS, CELLS)
        names, shown = () if is_whole else rows.names, replace(FALL, signed=False)
        return PictureView(NAME, pixels, names, maps, quantity=shown, scale=ALL)
    is_long = max(map(len, parts.names)) >= LONG_NAME
    if is_whole and not is_long:
        return ShadedView(NAME, parts.names, steps[0], FALL)
    titles, matrix = ("answer", "left out"), steps[None, None]
    return TokenView(NAME, rows.names, parts.names, matrix, titles, sideways=is_long, quantity=FALL)


def _covered(pixels):
    """The picture once for each region, in which that has the mean color."""
    mean = pixels.mean(axis=(0, 1)).round().astype("uint8")
    (tops, bottoms), (lefts, rights) = map(_windows, pixels.shape[:2])
    for row, column in np.ndindex(CELLS, CELLS):
        picture = pixels.copy()
        picture[tops[row] : bottoms[row], lefts[column] : rights[column]] = mean
        yield picture


def _windows(size):
    """First and last pixel of each region's cover, of pixels in one direction."""
    cells = np.arange(CELLS)
    edges = (cells - 0.5, cells + 1.5)
    return [np.clip(size * edge / CELLS, 0, size).round().astype(int) for edge in edges]


def _scored(saved, requests, answer):
    """Log-probability of each token of an answer, or of the whole, for each request (B, T)."""
    columns = {name: [request[name] for request in requests] for name in requests[0]}
    columns[saved.scored[1]] = [encoded_text(answer)] * len(requests)
    answers = saved.ask("score", **columns)
    if error := next((error for row in answers if (error := row[ERROR].decode())), ""):
        raise ValueError(
            "Expected an answer, and an input without each part, that can be scored. "
            f"Received: {error}"
        )
    return [np.atleast_1d(row.get(TOKEN_SCORES, row[SCORE])) for row in answers]


def _words(views, explained, scores, answer):
    """`Names` of the words of an answer and their tokens; of the whole where it is a label, or
    where scoring reads a text in other tokens than those that it was decoded in."""
    axes = [getattr(view, name, None) for view in views for name in ("steps", "rows")]
    axis = next((axis for axis in axes if isinstance(axis, Pieces) and axis.tokens), None)
    if axis is not None and TOKEN_SCORES in explained:
        decoded = np.asarray(explained[TOKEN_SCORES])[0]
        size = max(len(decoded), len(scores))
        padded = [np.pad(each, (0, size - len(each))) for each in (decoded, scores)]
        if np.abs(padded[0] - padded[1]).max() < SAME:
            read = axis.read(explained, {}, len(decoded))
            if words := [word for word in zip(*read) if is_word(word[0])]:
                names, places = zip(*words)
                return Names(names, list(places))
    return Names((answer,), [list(range(len(scores)))])
