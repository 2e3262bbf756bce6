"""Sizes of a Transformer, a part inside model parts."""

import json
from typing import Any, Protocol

from keras_attn_pipelines.experiment.fields import check_heads, option, part

POSITIONS = ("sinusoidal", "learned", "rotary", "alibi", "relative")


class Sizes(Protocol):
    """Layers, widths and parts of a Transformer."""

    def arguments(self) -> dict[str, Any]:
        """Arguments of `TransformerConfig`, except vocabularies."""


@part
class TransformerSizes:
    """Layers, widths, heads, dropout and parts of a Transformer."""

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
    normalization: str = option(
        "normalization: by mean and variance, or by the root mean square",
        default="layer",
        settled=True,
        choices=("layer", "rms"),
    )
    parallel: bool = option(
        "all sublayers of a block read the same normalized input; needs --normalize-first",
        default=False,
        settled=True,
    )
    num_key_value_heads: int = option(
        "heads of keys and values, which divide the attention heads; 0 for as many",
        default=0,
        settled=True,
        least=0,
    )
    positions: str = option(
        "positions: added to embeddings (sinusoidal, learned) or inside self-attention",
        default="sinusoidal",
        settled=True,
        choices=POSITIONS,
    )
    sliding_window: int = option(
        "positions that self-attention sees on each side, its own included; 0 for all",
        default=0,
        settled=True,
        least=0,
    )
    activation: str = option(
        "activation of the feed-forward layers",
        default="relu",
        settled=True,
        choices=("relu", "gelu", "silu"),
    )
    gated: bool = option(
        "gated feed-forward layers without biases, three kernels instead of two: SwiGLU with silu",
        default=False,
        settled=True,
    )
    embed_start: bool = option(
        "an embedding for the beginning of answers; without one it is zeros, as in Marian",
        default=True,
        settled=True,
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)
    attention_dropout: float = option(
        "dropout probability for attention weights", default=0.0, least=0, below=1
    )

    def check(self):
        """Raises ValueError unless the heads divide the width, and the parts fit each other."""
        check_heads(self.hidden_dim, self.num_heads)
        if self.num_key_value_heads and self.num_heads % self.num_key_value_heads:
            raise ValueError(
                f"Expected num_key_value_heads that divides num_heads={self.num_heads}. "
                f"Received: num_key_value_heads={self.num_key_value_heads}"
            )
        if self.parallel and not self.normalize_first:
            raise ValueError(
                "Expected normalize_first with parallel. Received: parallel without it"
            )
        if self.positions == "rotary" and self.hidden_dim // self.num_heads % 2:
            raise ValueError(
                f"Expected heads of an even width for rotary positions. "
                f"Received: {self.hidden_dim} / {self.num_heads}"
            )

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
            "normalization": self.normalization,
            "parallel": self.parallel,
            "num_key_value_heads": self.num_key_value_heads or None,
            "positions": self.positions,
            "sliding_window": self.sliding_window or None,
            "activation": self.activation,
            "gated": self.gated,
            "feed_forward_bias": not self.gated,
            "embed_start": self.embed_start,
        }


@part
class PretrainedSizes:
    """Those of a model that was trained elsewhere."""

    architecture: str = option(
        "of --sizes pretrained: arguments of TransformerConfig as JSON, which keras-attn import "
        "writes",
        default="{}",
        settled=True,
    )
    dropout: float = option("dropout probability", default=0.1, least=0, below=1)
    attention_dropout: float = option(
        "dropout probability for attention weights", default=0.0, least=0, below=1
    )

    def check(self):
        """Raises ValueError unless the arguments are an object of JSON."""
        check_object("architecture", self.architecture)

    def arguments(self) -> dict[str, Any]:
        """See `Sizes`."""
        dropout = {"dropout": self.dropout, "attention_dropout": self.attention_dropout}
        return {**json.loads(self.architecture), **dropout}


SIZES = {"own": TransformerSizes, "pretrained": PretrainedSizes}


def check_object(name: str, text: str) -> None:
    """Raises ValueError unless a text is an object of JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"Expected {name} as a JSON object. Received: {text!r:.80}")
