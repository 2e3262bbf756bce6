"""Asking a SavedModel: nothing of the model's code is needed, only TensorFlow's."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers the tokenizer's ops)

from keras_attn.contracts import CAPTION, ERROR, IMAGE
from keras_attn.viz.attention import Explanation, explanation_figure


class SavedCaptioner:
    """An exported captioner.

    Args:
        folder: path of the model's folder (its highest version is taken) or of one version.

    Raises:
        ValueError: no SavedModel there.
    """

    def __init__(self, folder):
        folder = Path(folder)
        versions = [one for one in folder.glob("*") if one.name.isdigit()]
        if not (folder / "saved_model.pb").is_file() and versions:
            folder = max(versions, key=lambda one: int(one.name))
        if not (folder / "saved_model.pb").is_file():
            raise ValueError(
                f"Expected a SavedModel or numbered versions of one. Received: {folder}"
            )
        self.folder = folder
        self._signatures = tf.saved_model.load(str(folder)).signatures

    def caption(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `serving_default`, one dict of arrays a picture."""
        return self._ask("serving_default", {IMAGE: pictures}, batch)

    def explain(self, pictures: Sequence[bytes], batch: int = 32) -> list[dict]:
        """Answers of `explain`, one dict of arrays a picture."""
        return self._ask("explain", {IMAGE: pictures}, batch)

    def score(
        self, pictures: Sequence[bytes], captions: Sequence[str], batch: int = 32
    ) -> list[dict]:
        """Answers of `score`, one dict of arrays a pair of picture and caption.

        Raises:
            ValueError: not as many captions as pictures.
        """
        if len(pictures) != len(captions):
            raise ValueError(
                f"Expected as many captions as pictures ({len(pictures)}). "
                f"Received: {len(captions)} captions"
            )
        return self._ask("score", {IMAGE: pictures, CAPTION: captions}, batch)

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

    def _ask(self, signature, inputs, batch):
        if signature not in self._signatures:
            raise ValueError(f"Expected a SavedModel that can {signature}. Received: {self.folder}")
        answers, count = [], len(inputs[IMAGE])
        for start in range(0, count, batch):
            rows = slice(start, start + batch)
            chunk = {key: tf.constant(list(one[rows]), tf.string) for key, one in inputs.items()}
            found = self._signatures[signature](**chunk)
            arrays = {key: value.numpy() for key, value in found.items()}
            answers += [
                {key: value[row] for key, value in arrays.items()}
                for row in range(len(chunk[IMAGE]))
            ]
        return answers


def explanation_of(answer: dict, rank: int = 0) -> Explanation:
    """The `Explanation` in one answer of `SavedCaptioner.explain`; rank 0 is the best caption."""
    return Explanation.of({key: np.asarray(value)[None] for key, value in answer.items()}, 0, rank)
