"""Exported models that take pictures: captioners and classifiers."""

import glob
from pathlib import Path

import numpy as np

from keras_attn.contracts import (
    ANSWER_WEIGHTS,
    CAPTION,
    CROP,
    ENCODER_WEIGHTS,
    ERROR,
    GRID,
    IMAGE,
    LABEL_SCORES,
    LABELS,
    PICTURE,
)
from keras_attn.images.picture_format import read_picture
from keras_attn.viz.attention import Explanation, explanation_figure
from keras_attn.viz.caption_heads import CaptionHeads
from keras_attn.viz.every_head import CROSS
from keras_attn.viz.picture_heads import PictureHeads, rollout_figure
from keras_attn.viz.sampling import sampling_figure
from keras_attn_pipelines.data.readers.text_reader import PICTURE_SUFFIXES
from keras_attn_pipelines.saved.saved_model import BATCH, Saved, check_kind, write_figure


class SavedPictureModel(Saved):
    """Abstract: an exported model that takes pictures."""

    scored = (IMAGE, CAPTION)

    def named(self, inputs):
        """See `Saved`: paths of pictures. Folders and patterns such as `holiday/*.jpg` are
        expanded; those without pictures are kept."""
        return [path for name in inputs for path in (_pictures(name) if name else ()) or [name]]

    def reasons(self, inputs):
        """See `Saved`: paths of pictures."""
        return [_path_error(Path(path)) if path else "no such file" for path in inputs]

    def answers(self, inputs):
        """See `Saved`: paths of pictures; files are read a batch at a time."""
        for start in range(0, len(inputs), BATCH):
            data = [Path(path).read_bytes() for path in inputs[start : start + BATCH]]
            yield from self.ask("serving_default", image=data, batch=BATCH)


class SavedCaptioner(SavedPictureModel):
    """An exported captioner."""

    def score_pair(self, first, second):
        """See `Saved`: path of a picture, and a caption."""
        return self.ask("score", image=[Path(first).read_bytes()], caption=[second])[0]

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: path of a picture; heads and word need a Transformer."""
        if (heads, word, layer) == (None, None, None):
            return self.explain_file(asked, out).text
        check_kind(out, (".png",))
        if heads not in (None, CROSS) or (heads is None) == (word is None) or (layer and heads):
            raise ValueError(
                "Expected heads=cross, or a word with an optional layer, for a captioner. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        picture = Path(asked).read_bytes()
        answer = self.ask("attention", image=[picture])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{asked}: {error}")
        heads_of_caption, shown = CaptionHeads.of(answer), read_picture(picture)
        if word is None:
            write_figure(heads_of_caption.figure(shown), out)
        else:
            write_figure(heads_of_caption.word_figure(shown, word, layer), out)
        return heads_of_caption.text

    def explain_file(self, path, out) -> Explanation:
        """Writes the attention picture of a file as PNG.

        Raises:
            ValueError: the file is not a readable picture, or `out` is not a .png.
            OSError: `out` cannot be written; an existing file is unchanged.
        """
        check_kind(out, (".png",))
        picture = Path(path).read_bytes()
        answer = self.ask("explain", image=[picture])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{path}: {error}")
        explanation = explanation_of(answer)
        write_figure(explanation_figure(read_picture(picture), explanation), out)
        return explanation


class SavedLabels(SavedPictureModel):
    """Abstract: an exported classifier."""

    answered = (LABELS, LABEL_SCORES)

    def score_pair(self, first, second):
        """See `Saved`: not supported."""
        raise ValueError(f"Expected a SavedModel with a signature 'score'. Received: {self.folder}")

    def asked_of(self, signature, path):
        """The picture at a path, and a signature's answer for it.

        Raises:
            ValueError: the file is not a readable picture.
        """
        picture = Path(path).read_bytes()
        (answer,) = self.ask(signature, image=[picture])
        if error := answer[ERROR].decode():
            raise ValueError(f"{path}: {error}")
        return picture, answer


class SavedClassifier(SavedLabels):
    """An exported classifier."""

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: path of a picture; heads are the encoder's, and there are no words.

        Draws the picture beside its attention rollout, or once for each block and head.
        """
        if heads not in (None, "encoder") or (word, layer) != (None, None):
            raise ValueError(
                "Expected heads=encoder and no word for a classifier. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        check_kind(out, (".png",))
        picture, answer = self.asked_of("attention" if heads else "explain", asked)
        shares = answer[ANSWER_WEIGHTS]
        if heads:
            figure = PictureHeads(answer[ENCODER_WEIGHTS], shares.shape).heads_figure(
                read_picture(picture)
            )
        else:
            figure = rollout_figure(read_picture(picture), shares)
        write_figure(figure, out)
        return answer[LABELS][0].decode()


class SavedSpatialTransformer(SavedLabels):
    """An exported classifier behind spatial transformers."""

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: path of a picture; neither heads nor words.

        Draws the picture with its sampling points, beside the crop.
        """
        if (heads, word, layer) != (None, None, None):
            raise ValueError(
                "Expected neither heads nor a word for a spatial transformer. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        check_kind(out, (".png",))
        _, answer = self.asked_of("explain", asked)
        seen, grid, crop = (answer[key][None] for key in (PICTURE, GRID, CROP))
        label = answer[LABELS][0].decode()
        write_figure(sampling_figure(seen, grid, crop, title=label), out)
        return label


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
