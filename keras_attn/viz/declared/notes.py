"""Notes that a service declares: what else an answer should be read with."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keras_attn.viz.declared.plain import Output, Plain

COUNT, VALUE = "{count}", "{value}"
LEAST_SHOWN = 0.0001
"""Smallest value that a sentence gives."""


@dataclass(frozen=True)
class Note(Plain):
    """A sentence about an answer, where an output is not 0, or is less than a limit.

    Attributes:
        output: name of an output of `serving_default` and `explain`, int (): how many, or 1 for
            yes; with `below`, float ().
        text: the sentence, with "{count}" where the number stands, or "{value}" with `below`.
        singular: the sentence for a number of 1; '' if it is the same. Without `below`.
        below: the sentence is for outputs below this limit; None for outputs that are not 0.

    Example:
        >>> note = Note("dropped", "the oldest {count} lines were not read")
        >>> note.read({"dropped": 3}), note.read({"dropped": 0})
        ('the oldest 3 lines were not read', '')
        >>> Note("share", "only {value} of it", below=0.5).read({"share": 0.25})
        'only 0.25 of it'
    """

    kind: ClassVar[str] = "note"
    signature: ClassVar[str] = "serving_default"
    output: Output
    text: str
    singular: str = ""
    below: float | None = None

    def __post_init__(self):
        if self.below is not None and (self.singular or not math.isfinite(self.below)):
            raise ValueError(
                "Expected a finite limit, and no singular with it. "
                f"Received: below={self.below}, singular={self.singular!r:.80}"
            )

    def read(self, answer: Mapping[str, Any]) -> str:
        """The sentence about an answer, or ''."""
        if self.below is not None:
            value = self._value(answer)
            if value is None or value >= self.below:
                return ""
            tiny = 0 <= value < LEAST_SHOWN
            return self.text.replace(VALUE, f"under {LEAST_SHOWN}" if tiny else f"{value:.2g}")
        count = self._count(answer)
        if count == 1 and self.singular:
            return self.singular
        return self.text.replace(COUNT, str(count)) if count else ""

    def value(self, answer: Mapping[str, Any]) -> int | bool | float | None:
        """The output as JSON: a number where the sentence has one or a limit, else true or
        false."""
        if self.below is not None:
            return self._value(answer)
        count = self._count(answer)
        return count if COUNT in self.text else bool(count)

    def _count(self, answer):
        """The output; 0 in an answer without it."""
        count = np.asarray(answer.get(self.output, 0))
        if count.shape or count.dtype.kind not in "iub":
            raise ValueError(
                f"Expected a whole number as {self.output}. "
                f"Received: {count.dtype} of shape {count.shape}"
            )
        return int(count)

    def _value(self, answer):
        """The output; None in an answer without it."""
        if self.output not in answer:
            return None
        value = np.asarray(answer[self.output])
        if value.shape or value.dtype.kind not in "fiu":
            raise ValueError(
                f"Expected a number as {self.output}. "
                f"Received: {value.dtype} of shape {value.shape}"
            )
        return float(value)
