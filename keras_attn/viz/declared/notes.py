"""Notes that a service declares: what else an answer should be read with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keras_attn.viz.declared.plain import Output, Plain

COUNT = "{count}"


@dataclass(frozen=True)
class Note(Plain):
    """A sentence about an answer, where an output is not 0.

    Attributes:
        output: name of an output of `serving_default` and `explain`, int (): how many, or 1 for
            yes.
        text: the sentence, with "{count}" where the number stands.
        singular: the sentence for a number of 1; '' if it is the same.

    Example:
        >>> note = Note("dropped", "the oldest {count} lines were not read")
        >>> note.read({"dropped": 3}), note.read({"dropped": 0})
        ('the oldest 3 lines were not read', '')
    """

    kind: ClassVar[str] = "note"
    signature: ClassVar[str] = "serving_default"
    output: Output
    text: str
    singular: str = ""

    def read(self, answer: Mapping[str, Any]) -> str:
        """The sentence about an answer, or ''."""
        count = self._count(answer)
        if count == 1 and self.singular:
            return self.singular
        return self.text.replace(COUNT, str(count)) if count else ""

    def value(self, answer: Mapping[str, Any]) -> int | bool:
        """The output as JSON: a number where the sentence has one, else true or false."""
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
