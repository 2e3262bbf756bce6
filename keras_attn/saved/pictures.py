"""Exported models that take pictures: captioners and classifiers."""

import glob
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from keras_attn.contracts import (
    CAPTION,
    CROP,
    ENCODER_WEIGHTS,
    GRID,
    IMAGE,
    LABEL_SCORES,
    LABELS,
    PICTURE,
    PICTURE_SUFFIXES,
    WEIGHTS,
)
from keras_attn.images.picture_format import read_picture
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import PROBABILITY, Saved, refuse_choices
from keras_attn.viz.attention import Explanation, explanation_figure
from keras_attn.viz.caption_heads import CaptionHeads
from keras_attn.viz.every_head import CROSS
from keras_attn.viz.explorer import ExplorerPage, PictureView, SamplingView
from keras_attn.viz.picture_heads import PictureHeads, rollout_figure
from keras_attn.viz.sampling import sampling_figure


class SavedPictureModel(Saved):
    """Abstract: an exported model that takes pictures."""

    scored = (IMAGE, CAPTION)

    def named(self, inputs):
        """See `Saved`: paths of pictures. Folders and patterns such as `holiday/*.jpg` are
        expanded; those without pictures are kept."""
        return [path for name in inputs for path in (_pictures(name) if name else ()) or [name]]

    def reason(self, item):
        """See `Saved`: files that are not there."""
        if not isinstance(item, str | Path):
            return ""
        return _path_error(Path(item)) if item else "no such file"

    def fed(self, item):
        """See `Saved`: the path of a picture, its bytes, or an array as PNG."""
        return {IMAGE: picture_bytes(item)}


class SavedCaptioner(SavedPictureModel):
    """An exported captioner."""

    def drawn(self, asked, heads, word, layer):
        """See `Saved`; heads and word need a Transformer."""
        picture = picture_bytes(asked)
        if (heads, word, layer) == (None, None, None):
            explanation = explanation_of(self.answer_of("explain", asked))
            figure = explanation_figure(read_picture(picture), explanation)
            return Drawing(explanation.text, figure, explanation)
        if heads not in (None, CROSS) or (heads is None) == (word is None) or (layer and heads):
            raise ValueError(
                "Expected heads=cross, or a word with an optional layer, for a captioner. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        every = CaptionHeads.of(self.answer_of("attention", asked))
        pixels = read_picture(picture)
        figure = every.figure(pixels) if word is None else every.word_figure(pixels, word, layer)
        return Drawing(every.text, figure, every)

    def explore(self, asked):
        """See `Saved`: where each word looked, of a Transformer in each layer and head."""
        answer, pixels = self.answer_of("explain", asked), read_picture(picture_bytes(asked))
        if "attention" in self.signatures:
            heads = CaptionHeads.of(self.answer_of("attention", asked))
            words, weights = heads.words, np.moveaxis(heads.weights, 0, 2)
        else:
            explanation = explanation_of(answer)
            words, weights = explanation.words, explanation.weights[None, None]
        view = PictureView("Where each word looked", pixels, words, weights)
        return ExplorerPage(_named(asked), self.best_of(answer), [view])


class SavedClassifier(SavedPictureModel):
    """An exported classifier."""

    answered = (LABELS, LABEL_SCORES)

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: heads are the encoder's, and there are no words.

        Draws the picture beside its attention rollout, or once for each block and head.
        """
        if heads not in (None, "encoder") or (word, layer) != (None, None):
            raise ValueError(
                "Expected heads=encoder and no word for a classifier. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        answer = self.answer_of("attention" if heads else "explain", asked)
        label, shares = answer[LABELS][0].decode(), answer[WEIGHTS]
        pixels = read_picture(picture_bytes(asked))
        if heads is None:
            return Drawing(label, rollout_figure(pixels, shares), shares)
        every = PictureHeads(answer[ENCODER_WEIGHTS], shares.shape)
        return Drawing(label, every.heads_figure(pixels), every)

    def explore(self, asked):
        """See `Saved`: rollout, and each block and head."""
        answer, pixels = self.answer_of("explain", asked), read_picture(picture_bytes(asked))
        shares = answer[WEIGHTS]
        apart = (shares - shares.min()) / max(np.sum(shares - shares.min()), 1e-9)
        views = [PictureView("Attention rollout", pixels, ["picture"], apart[None, None, None])]
        if "attention" in self.signatures:
            weights = self.answer_of("attention", asked)[ENCODER_WEIGHTS]
            maps = PictureHeads(weights, shares.shape).maps()[:, :, None]
            views.append(PictureView("Each block and head", pixels, ["picture"], maps))
        return ExplorerPage(_named(asked), self.best_of(answer), views, PROBABILITY)


class SavedSpatialTransformer(SavedPictureModel):
    """An exported classifier behind spatial transformers."""

    answered = (LABELS, LABEL_SCORES)

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: neither heads nor words.

        Draws the picture with its sampling points, beside the crop.
        """
        refuse_choices("a spatial transformer", heads=heads, word=word, layer=layer)
        answer = self.answer_of("explain", asked)
        seen, grid, crop = (answer[key][None] for key in (PICTURE, GRID, CROP))
        label = answer[LABELS][0].decode()
        return Drawing(label, sampling_figure(seen, grid, crop, title=label), answer[GRID])

    def explore(self, asked):
        """See `Saved`: the points that are read, and the crop."""
        answer = self.answer_of("explain", asked)
        view = SamplingView("What was read", answer[PICTURE], answer[GRID], answer[CROP])
        return ExplorerPage(_named(asked), self.best_of(answer), [view], PROBABILITY)


def picture_bytes(item: Any) -> bytes:
    """A picture as an encoded file.

    Args:
        item: path, bytes of a file, or uint8 array (height, width, 3) or (height, width).

    Raises:
        ValueError: something else.
        OSError: a file that cannot be read.
    """
    if isinstance(item, bytes):
        return item
    if isinstance(item, str | Path):
        return Path(item).read_bytes()
    array = np.asarray(item)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)):
        raise ValueError(
            "Expected a path, the bytes of a picture, or uint8 of shape (height, width, 3). "
            f"Received: a {type(item).__name__}, {array.dtype} of shape {array.shape}"
        )
    data = io.BytesIO()
    Image.fromarray(array).save(data, "PNG")
    return data.getvalue()


def _named(item):
    """What a page calls a picture."""
    return str(item) if isinstance(item, str | Path) else "a picture"


def explanation_of(answer: dict, rank: int = 0) -> Explanation:
    """The `Explanation` in one answer of a captioner's `explain`; rank 0 is the best caption."""
    return Explanation.of({key: np.asarray(value)[None] for key, value in answer.items()}, 0, rank)


def _pictures(named):
    """Sorted paths of the pictures in a folder, at any depth, or of those that match a pattern."""
    path = Path(named)
    if path.is_file() or not (path.is_dir() or glob.has_magic(named)):
        return []
    inside = path.rglob("*") if path.is_dir() else map(Path, glob.glob(named, recursive=True))
    return sorted(
        str(entry)
        for entry in inside
        if entry.suffix.lower() in PICTURE_SUFFIXES and entry.is_file()
    )


def _path_error(path):
    """Why a path is not a usable input; '' if it is."""
    if path.is_dir():
        return f"a folder without pictures ({', '.join(PICTURE_SUFFIXES)})"
    return "" if path.is_file() else "no such file"
