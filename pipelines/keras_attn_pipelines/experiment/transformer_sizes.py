"""Sizes of a Transformer, a part inside model parts."""

from typing import Any

from keras_attn_pipelines.experiment.fields import check_heads, option, part


@part
class TransformerSizes:
    """Layers, widths, heads and dropout of a Transformer."""

    num_layers: int = option(
        "layers in the encoder and in the decoder", default=3, settled=True, least=1
    )
    hidden_dim: int = option("width of the model", default=256, settled=True, least=1)
    intermediate_dim: int = option(
        "width of the feed-forward layers", default=1024, settled=True, least=1
    )
    num_heads: int = option("attention heads", default=4, settled=True, least=1)
    normalize_first: bool = option(
        "layer normalization before each sublayer instead of after it", default=True, settled=True
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)
    attention_dropout: float = option(
        "dropout probability for attention weights", default=0.0, least=0, below=1
    )

    def check(self):
        """Raises ValueError unless the heads divide the width."""
        check_heads(self.hidden_dim, self.num_heads)

    def arguments(self) -> dict[str, Any]:
        """Arguments of `TransformerConfig`, except vocabularies."""
        key_dim = self.hidden_dim // self.num_heads
        return {
            "num_layers": self.num_layers,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "num_heads": self.num_heads,
            "key_dim": key_dim,
            "value_dim": key_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "normalize_first": self.normalize_first,
        }
