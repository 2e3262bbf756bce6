"""SavedModels that declare which of their outputs can be drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import ERROR, IMAGE, LABEL_SCORES, LABELS, SCORE, TEXT
from keras_attn.serving.export import METADATA_FILE, read_metadata
from keras_attn.viz.alignment import matrix_figure
from keras_attn_pipelines.saved.saved_model import BATCH, Saved, check_kind, write_figure

DRAWN = "drawn"
"""Key of the metadata: a dict from the name of an output, float (S,) or (T, S) for each request, to
the names of what its axes stand for, string outputs (S,), or (T,) and (S,)."""


class SavedDeclared(Saved):
    """An exported user-defined model with one string input.

    Its answers are texts or labels with scores; `explain` draws what its metadata declare.
    """

    def __init__(self, folder, inputs, outputs):
        super().__init__(folder)
        if len(inputs) != 1:
            raise ValueError(
                f"Expected a SavedModel with one input. Received: {', '.join(sorted(inputs))} in "
                f"{self.folder}"
            )
        (self.input,) = inputs
        self.scored = (self.input, TEXT)
        self.answered = (LABELS, LABEL_SCORES) if LABELS in outputs else (TEXT, SCORE)
        self.drawn = read_metadata(self.folder)[DRAWN]

    def reasons(self, inputs):
        """See `Saved`: files of pictures, or texts."""
        if self.input != IMAGE:
            return [""] * len(inputs)
        return ["" if Path(path).is_file() else "no such file" for path in inputs]

    def answers(self, inputs):
        """See `Saved`: files of pictures, or texts."""
        for start in range(0, len(inputs), BATCH):
            asked = [self._encoded(path) for path in inputs[start : start + BATCH]]
            yield from self.ask("serving_default", batch=BATCH, **{self.input: asked})

    def score_pair(self, first, second):
        """See `Saved`: not supported."""
        raise ValueError(f"Expected a SavedModel with a signature 'score'. Received: {self.folder}")

    def explained(self, asked, out, heads=None, word=None, layer=None):
        """See `Saved`: draws the first declared output; neither heads nor words."""
        if (heads, word, layer) != (None, None, None):
            raise ValueError(
                "Expected neither heads nor a word for a model that declares its pictures. "
                f"Received: heads={heads!r}, word={word!r}, layer={layer}"
            )
        check_kind(out, (".png", ".svg"))
        answer = self.ask("explain", **{self.input: [self._encoded(asked)]})[0]
        if error := answer[ERROR].decode():
            raise ValueError(f"{asked!r:.80}: {error}")
        write_figure(declared_figure(answer, *next(iter(self.drawn.items()))), out)
        return answer[self.answered[0]][0].decode()

    def _encoded(self, asked):
        return (
            Path(asked).read_bytes()
            if self.input == IMAGE
            else asked.encode(errors="surrogateescape")
        )


def declares_pictures(version) -> bool:
    """Whether the metadata of a SavedModel declare outputs that can be drawn.

    Raises:
        ValueError: metadata that cannot be read.
    """
    if not (Path(version) / METADATA_FILE).is_file():
        return False
    drawn = read_metadata(version).get(DRAWN)
    complete = isinstance(drawn, dict) and all(
        isinstance(axes, list) and 1 <= len(axes) <= 2 for axes in drawn.values()
    )
    if drawn is not None and not complete:
        raise ValueError(
            f"Expected {DRAWN} to be an object with one or two names for each output in the "
            f"metadata of {version}. Received: {drawn!r:.80}"
        )
    return bool(drawn)


def declared_figure(answer: Mapping[str, Any], output: str, axes: Sequence[str]):
    """A matrix of declared weights, with a row and a column for each string that is not empty.

    Args:
        answer: of `explain`, for one request.
        output: name of the weights.
        axes: names of the strings, see DRAWN.

    Raises:
        ValueError: the answer lacks an output, or shapes do not match.
    """
    if missing := [name for name in (output, *axes) if name not in answer]:
        raise ValueError(f"Expected explain to return {', '.join(missing)}. Received: none")
    weights = np.atleast_2d(np.asarray(answer[output], "float32"))
    labels = [[piece.decode() for piece in answer[name] if piece] for name in axes]
    *rows, columns = labels if len(labels) == 2 else ([""], *labels)
    if weights.ndim != 2 or any(
        size < len(names) for size, names in zip(weights.shape, (*rows, columns))
    ):
        raise ValueError(
            f"Expected {output} for {' × '.join(str(len(label)) for label in labels)} labels. "
            f"Received: shape {weights.shape}"
        )
    return matrix_figure(weights[: len(rows[0]), : len(columns)], rows[0], columns)
