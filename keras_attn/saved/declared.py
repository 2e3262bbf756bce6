"""SavedModels that declare which of their outputs can be drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import IMAGE, LABEL_SCORES, LABELS, SCORE, TEXT
from keras_attn.saved.pictures import picture_bytes
from keras_attn.saved.results import Drawing
from keras_attn.saved.saved_model import PROBABILITY, Saved, encoded_text, refuse_choices
from keras_attn.serving.export import METADATA_FILE, read_metadata
from keras_attn.viz.alignment import matrix_figure
from keras_attn.viz.explorer import ExplorerPage, TokenView

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
        self.declared = read_metadata(self.folder)[DRAWN]

    def reason(self, item):
        """See `Saved`: files of pictures that are not there."""
        is_path = self.input == IMAGE and isinstance(item, str | Path)
        return "no such file" if is_path and not Path(item).is_file() else ""

    def fed(self, item):
        """See `Saved`: a picture or a text."""
        return {self.input: picture_bytes(item) if self.input == IMAGE else encoded_text(item)}

    def drawn(self, asked, heads, word, layer):
        """See `Saved`: draws the first declared output; neither heads nor words."""
        refuse_choices("a model that declares its pictures", heads=heads, word=word, layer=layer)
        answer = self.answer_of("explain", asked)
        output, axes = next(iter(self.declared.items()))
        figure = matrix_figure(*declared_matrix(answer, output, axes))
        return Drawing(answer[self.answered[0]][0].decode(), figure, answer[output])

    def explore(self, asked):
        """See `Saved`: the declared outputs."""
        answer, views = self.answer_of("explain", asked), []
        for output, axes in self.declared.items():
            weights, rows, columns = declared_matrix(answer, output, axes)
            titles = (axes[0] if len(axes) == 2 else "weights", axes[-1])
            views.append(TokenView(output, rows, columns, weights[None, None], titles))
        unit = PROBABILITY if self.answered[0] == LABELS else "nats"
        return ExplorerPage(str(asked), self.best_of(answer), views, unit)


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


def declared_matrix(answer: Mapping[str, Any], output: str, axes: Sequence[str]):
    """Declared weights, with a row and a column for each string that is not empty.

    Args:
        answer: of `explain`, for one request.
        output: name of the weights.
        axes: names of the strings, see DRAWN.

    Returns:
        weights: float32 (rows, columns).
        rows: list of strings, one of them empty where a single axis is named.
        columns: list of strings.

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
    return weights[: len(rows[0]), : len(columns)], rows[0], columns
