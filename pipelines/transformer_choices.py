"""The sizes of a Transformer, as recipes with one have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pipelines.choices import check_heads
from pipelines.recipe import option
from pipelines.search_recipe import SearchRecipe


@dataclass(frozen=True, kw_only=True)
class TransformerChoices(SearchRecipe):
    """Abstract: a recipe with a Transformer.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    settled: ClassVar[Sequence[str]] = (
        "vocabulary_size",
        "lowercase",
        "num_layers",
        "hidden_dim",
        "intermediate_dim",
        "num_heads",
        "normalize_first",
    )

    num_layers: int = option(3, "layers of the encoder, and of the decoder")
    hidden_dim: int = option(256, "width of the model")
    intermediate_dim: int = option(1024, "width of the feed-forward layers")
    num_heads: int = option(4, "attention heads")
    normalize_first: bool = option(True, "normalize before each sublayer, not after it")
    attention_dropout: float = option(0.0, "dropout probability of attention weights")

    def __post_init__(self):
        super().__post_init__()
        check_heads(self.hidden_dim, self.num_heads)

    def sizes(self) -> dict[str, Any]:
        """Arguments of `TransformerConfig` beside its vocabularies."""
        units = self.hidden_dim // self.num_heads
        return {
            "num_layers": self.num_layers,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "num_heads": self.num_heads,
            "key_dim": units,
            "value_dim": units,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "normalize_first": self.normalize_first,
        }
