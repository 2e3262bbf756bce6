"""Asking a SavedModel: nothing of the model's code is needed, only TensorFlow's."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

from keras_attn.contracts import ERROR
from keras_attn.serving.requests import CaptionRequests
from keras_attn.viz.attention import Explanation, explanation_figure


class SavedCaptioner(CaptionRequests):
    """An exported captioner: `caption`, `explain` and `score` ask its signatures.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.

    Raises:
        ValueError: no SavedModel there.
    """

    def __init__(self, folder):
        self.folder = version_folder(folder)
        self._signatures = tf.saved_model.load(str(self.folder)).signatures

    def caption_files(self, paths: Sequence) -> list[dict]:
        """As `caption`, for files."""
        return self.caption([Path(path).read_bytes() for path in paths])

    def explain_file(self, path, out) -> Explanation:
        """Writes the attention picture of a file as PNG.

        Raises:
            ValueError: the file is not a picture that can be read, or `out` no .png.
        """
        if Path(out).suffix.lower() != ".png":
            raise ValueError(f"Expected a .png file to write. Received: {out}")
        picture = Path(path).read_bytes()
        answer = self.explain([picture])[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{path}: {error}")
        explanation = explanation_of(answer)
        image = io.BytesIO()
        explanation_figure(picture, explanation).savefig(image, format="png", dpi=110)
        partial = Path(out).with_name(f"partial-{Path(out).name}")
        partial.write_bytes(image.getvalue())
        os.replace(partial, out)
        return explanation

    def _answer(self, signature, chunk):
        if signature not in self._signatures:
            raise ValueError(f"Expected a SavedModel that can {signature}. Received: {self.folder}")
        tensors = {key: tf.constant(values, tf.string) for key, values in chunk.items()}
        return {key: one.numpy() for key, one in self._signatures[signature](**tensors).items()}


def version_folder(folder) -> Path:
    """The folder of a SavedModel: `folder` itself or the highest of the versions in it.

    Raises:
        ValueError: no SavedModel there.
    """
    folder = Path(folder)
    versions = [one for one in folder.glob("*") if one.name.isdigit()]
    if not (folder / "saved_model.pb").is_file() and versions:
        folder = max(versions, key=lambda one: int(one.name))
    if not (folder / "saved_model.pb").is_file():
        raise ValueError(f"Expected a SavedModel or numbered versions of one. Received: {folder}")
    return folder


def explanation_of(answer: dict, rank: int = 0) -> Explanation:
    """The `Explanation` in one answer of `SavedCaptioner.explain`; rank 0 is the best caption."""
    return Explanation.of({key: np.asarray(value)[None] for key, value in answer.items()}, 0, rank)
