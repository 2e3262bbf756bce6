"""What a server asks of a model."""

from collections.abc import Mapping
from typing import Any, Protocol


class Unavailable(Exception):
    """The model is busy; the same request may be answered later."""


class Servable(Protocol):
    """A model that a server answers for; `keras_attn.load` gives one."""

    @property
    def version(self) -> str:
        """Its version, a number."""

    def inputs_of(self, signature: str) -> list[str]:
        """Names of a signature's inputs.

        Raises:
            ValueError: no such signature.
        """

    def outputs(self, signature: str, columns: Mapping[str, Any]) -> dict[str, Any]:
        """A signature's outputs as NumPy arrays, for all rows at once.

        Args:
            signature: its name.
            columns: dict of its inputs, lists or arrays of B rows.

        Raises:
            ValueError: a request that the model cannot answer.
            Unavailable: see there.
        """

    def signature_shapes(self) -> dict[str, Any]:
        """The signatures as JSON, as TF Serving describes them."""
