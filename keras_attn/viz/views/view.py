"""What every view of an answer can do."""

import abc
from typing import Any

from keras_attn.viz.quantity import ATTENTION, Quantity


class View(abc.ABC):
    """Abstract: what an answer says about where a model looked, to be drawn.

    Attributes:
        quantity: what its numbers are.
    """

    quantity: Quantity = ATTENTION

    @abc.abstractmethod
    def figure(self, title: str = "") -> Any:
        """The view as a matplotlib Figure.

        Args:
            title: such as the answer.
        """

    @abc.abstractmethod
    def parts(self) -> list[dict[str, Any]]:
        """Parts of the explorer's page, as explorer.js reads them."""
