"""The base of declared views."""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_attn.viz.declared.plain import Plain
from keras_attn.viz.views.view import View

EXPLAIN = "explain"


@dataclass(frozen=True, kw_only=True)
class DeclaredView(Plain, abc.ABC):
    """Abstract: outputs of a signature that can be looked at.

    Attributes:
        name: what a page calls the view.
        signature: whose outputs they are.
        heads: what `explain(heads=…)` calls the view; '' for one that has no such name.
    """

    name: str = ""
    signature: str = EXPLAIN
    heads: str = ""

    @abc.abstractmethod
    def read(self, answer: Mapping[str, Any], asked: Mapping[str, Any], index: int = 0) -> View:
        """The view of one answer.

        Args:
            answer: of the signature, for one request, as NumPy arrays by name.
            asked: the request by the name of each input: a picture as uint8 (height, width, 3), a
                text as a string, facts as a list of strings.
            index: which of several answers, from 0, where the outputs have a row for each.

        Raises:
            ValueError: weights and names that do not match.
        """
