"""What an exported model says: answers and pictures."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.contracts import LABEL_SCORES, LABELS, TEXT
from keras_attn.whole_file import whole_file

SUFFIXES = (".png", ".svg", ".pdf")
DPI = 110
NATS, PROBABILITY = "nats", "probability"
"""Units of scores: of texts, and of labels."""


def format_score(score: float, unit: str = "") -> str:
    """A score, rounded, with its unit if one is given; never a negative zero.

    Example:
        >>> format_score(-2.3456, NATS), format_score(-0.001), format_score(0.9731, PROBABILITY)
        ('-2.35 nats', '0.00', '97.3%')
    """
    return f"{100 * score:z.1f}%" if unit == PROBABILITY else f"{score:z.2f} {unit}".rstrip()


@dataclass(frozen=True, repr=False)
class Prediction:
    """The answer to one input.

    Attributes:
        text: the best text, or the most probable label; "" if there is an error.
        score: its log-probability in nats, or its probability.
        alternatives: tuple of (text, score), best first, the best included.
        error: why there is no answer; "" if there is one.
        outputs: dict of all outputs of the model as NumPy arrays, by name.
        unit: what a score is: "nats", "probability", or the unit that the model's metadata name.

    Example:
        >>> print(Prediction("a dog runs.", -2.3456, (("a dog runs.", -2.3456),)))
        a dog runs. (-2.35 nats)
        >>> Prediction("positive", 0.9731, unit="probability")
        Prediction('positive', 97.3%)
    """

    text: str = ""
    score: float = float("nan")
    alternatives: tuple[tuple[str, float], ...] = ()
    error: str = ""
    outputs: Mapping[str, Any] = field(default_factory=dict, repr=False)
    unit: str = NATS

    def __str__(self):
        if self.error:
            return f"error: {self.error}"
        best = self.alternatives or ((self.text, self.score),)
        return "\n".join(f"{text} ({format_score(score, self.unit)})" for text, score in best)

    def __repr__(self):
        if self.error:
            return f"Prediction(error={self.error!r})"
        best = self.alternatives[1:]
        more = f", and {len(best)} more" if best else ""
        return f"Prediction({self.text!r}, {format_score(self.score, self.unit)}{more})"


@dataclass(frozen=True)
class Drawing:
    """A picture of where a model looked. A notebook shows it.

    Attributes:
        text: the answer.
        figure: matplotlib Figure.
        data: the `View` that is drawn, with its names and weights, such as a `TokenView`.
    """

    text: str
    figure: Any = field(repr=False)
    data: Any = field(repr=False)

    def save(self, path) -> Path:
        """Writes the picture, in the format of the file's suffix: PNG, SVG or PDF.

        Raises:
            ValueError: another suffix.
            OSError: the file cannot be written; an existing file is unchanged.
        """
        path = check_picture_file(path)
        with whole_file(path) as partial:
            partial.write_bytes(self._encoded(path.suffix[1:].lower()))
        return path

    def _repr_png_(self):
        return self._encoded("png")

    def _encoded(self, kind):
        image = io.BytesIO()
        self.figure.savefig(image, format=kind, dpi=DPI)
        return image.getvalue()


def best_of(answer: Mapping[str, Any]) -> tuple[str, str]:
    """The best text or label of an answer, and the heading of a picture of it."""
    key = LABELS if LABELS in answer else TEXT
    texts = np.ravel(answer.get(key, ()))
    text = texts[0].decode() if len(texts) else ""
    if key == TEXT or not len(texts):
        return text, text
    return text, f"{text}, {100 * float(np.ravel(answer[LABEL_SCORES])[0]):.1f} %"


def check_picture_file(path) -> Path:
    """The path of a picture to write.

    Raises:
        ValueError: the suffix of another kind of file.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"Expected a .png, .svg or .pdf file to write. Received: {path}")
    return path
