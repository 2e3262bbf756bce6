"""The sizes of a Transformer, as recipes with one have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from keras_attn.layers.residual import POST, PRE
from pipelines.choices import check_heads
from pipelines.recipe import option
from pipelines.search_recipe import SearchRecipe


@dataclass(frozen=True, kw_only=True)
class TransformerChoices(SearchRecipe):
    """Abstract: a recipe with a Transformer.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    chosen: ClassVar[Mapping[str, Sequence[str]]] = {"norm": (PRE, POST)}
    settled: ClassVar[Sequence[str]] = (
        "vocabulary_size",
        "lowercase",
        "layers",
        "model_units",
        "hidden_units",
        "heads",
        "norm",
    )

    layers: int = option(3, "layers of the encoder, and of the decoder")
    model_units: int = option(256, "width of the model")
    hidden_units: int = option(1024, "width of the feed-forward layers")
    heads: int = option(4, "attention heads")
    norm: str = option(PRE, "pre or post: where the layer normalization is")
    weight_dropout: float = option(0.0, "dropout probability of attention weights")

    def __post_init__(self):
        super().__post_init__()
        check_heads(self.model_units, self.heads)

    def sizes(self) -> dict[str, Any]:
        """Arguments of `TransformerConfig` beside its vocabularies."""
        units = self.model_units // self.heads
        return {
            "layers": self.layers,
            "model_units": self.model_units,
            "hidden_units": self.hidden_units,
            "heads": self.heads,
            "key_units": units,
            "value_units": units,
            "dropout": self.dropout,
            "weight_dropout": self.weight_dropout,
            "norm": self.norm,
        }
