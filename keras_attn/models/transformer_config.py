"""Sizes of a Transformer, and those of the paper's models."""

from dataclasses import dataclass, field
from typing import Any

from keras_attn.layers.residual import POST, PRE
from keras_attn.layers.scored_attention import check_width
from keras_attn.ops.check_choice import check_choice

SINUSOIDAL, LEARNED = "sinusoidal", "learned"
NOTHING, DECODER, ALL = "none", "decoder", "all"


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and choices of a `Transformer`; the defaults are the paper's base model.

    Attributes:
        vocabulary_size: int. V of the source, and of the target where that has none of its own.
        target_vocabulary_size: int or None. V of the target; None is one vocabulary for both.
        layers: int. N, of the encoder and of the decoder.
        model_units: int. D, d_model.
        hidden_units: int. d_ff.
        heads: int. H.
        key_units: int. d_k of a head.
        value_units: int. d_v of a head.
        dropout: probability. On sublayers' outputs and on embeddings with positions.
        weight_dropout: probability. On attention weights.
        norm: "post", LN(x + f(x)), or "pre", x + f(LN(x)) with one more norm on each stack.
        positions: "sinusoidal" or "learned".
        max_length: int. Tokens that learned positions reach; sinusoids have no end.
        tied: "none"; "decoder", target embedding = output; "all", source embedding as well.
        attention_bias: bool. Whether the attention's projections have a bias.
        epsilon: float > 0. Of the layer normalizations.
        counted_token: int or None. A target token that stands for one step of the source each: the
            decoder's inputs then have a function of the step that is next, see `NextSource`.

    Raises:
        ValueError: a size < 1, an unknown choice, tied "all" with two vocabularies, or a
            counted_token outside the target vocabulary.
    """

    vocabulary_size: int
    target_vocabulary_size: int | None = None
    layers: int = 6
    model_units: int = 512
    hidden_units: int = 2048
    heads: int = 8
    key_units: int = 64
    value_units: int = 64
    dropout: float = 0.1
    weight_dropout: float = 0.0
    norm: str = POST
    positions: str = SINUSOIDAL
    max_length: int = 1024
    tied: str = ALL
    attention_bias: bool = False
    epsilon: float = 1e-6
    counted_token: int | None = None

    def __post_init__(self):
        sizes = ("vocabulary_size", "layers", "model_units", "hidden_units", "heads")
        for name in (*sizes, "key_units", "value_units", "max_length"):
            check_width(name, getattr(self, name))
        if self.target_vocabulary_size is not None:
            check_width("target_vocabulary_size", self.target_vocabulary_size)
        choices = {
            "norm": (POST, PRE),
            "positions": (SINUSOIDAL, LEARNED),
            "tied": (NOTHING, DECODER, ALL),
        }
        for name, known in choices.items():
            check_choice(name, getattr(self, name), known)
        if self.tied == ALL and self.target_size != self.vocabulary_size:
            raise ValueError(
                "Expected one vocabulary for tied='all'. Received: target_vocabulary_size="
                f"{self.target_vocabulary_size}, vocabulary_size={self.vocabulary_size}"
            )
        counted = self.counted_token
        if counted is not None and not 0 <= counted < self.target_size:
            raise ValueError(
                f"Expected 0 <= counted_token < {self.target_size}. "
                f"Received: counted_token={counted}"
            )

    @property
    def target_size(self):
        """V of the target."""
        return self.target_vocabulary_size or self.vocabulary_size

    @property
    def block(self):
        """Arguments of an encoder's or a decoder's block."""
        return {
            "heads": self.heads,
            "key_units": self.key_units,
            "value_units": self.value_units,
            "hidden_units": self.hidden_units,
            "dropout": self.dropout,
            "weight_dropout": self.weight_dropout,
            "norm": self.norm,
            "use_bias": self.attention_bias,
            "epsilon": self.epsilon,
        }

    def count_parameters(self):
        """How many numbers the model learns, without building it."""
        units = self.model_units
        keys, values = self.heads * self.key_units, self.heads * self.value_units
        attention = 2 * units * (keys + values)
        if self.attention_bias:
            attention += keys + values + units
        feed_forward = 2 * units * self.hidden_units + self.hidden_units + units
        norm = 2 * units
        encoder = self.layers * (attention + feed_forward + 2 * norm)
        decoder = self.layers * (2 * attention + feed_forward + 3 * norm)
        stacks = encoder + decoder + (2 * norm if self.norm == PRE else 0)
        if self.positions == LEARNED:
            stacks += 2 * self.max_length * units
        tables = {
            ALL: self.target_size,
            DECODER: self.vocabulary_size + self.target_size,
            NOTHING: self.vocabulary_size + 2 * self.target_size,
        }
        if self.counted_token is not None:
            stacks += units * units
        return stacks + tables[self.tied] * units


@dataclass(frozen=True)
class Preset:
    """A model of the paper's Table 3.

    Attributes:
        millions: float. Parameters × 10⁻⁶ as the paper has them.
        sizes: arguments of `TransformerConfig` that differ from the base model's.
        label_smoothing: probability. ε of the loss it was trained with.
    """

    millions: float
    sizes: dict[str, Any] = field(default_factory=dict)
    label_smoothing: float = 0.1

    def config(self, vocabulary_size, **changes):
        """`TransformerConfig` for a vocabulary, with changes of one's own."""
        return TransformerConfig(vocabulary_size, **{**self.sizes, **changes})


def _preset(millions, label_smoothing=0.1, **sizes):
    return Preset(millions, sizes, label_smoothing)


PRESETS = {
    "base": _preset(65),
    "heads_1": _preset(65, heads=1, key_units=512, value_units=512),
    "heads_4": _preset(65, heads=4, key_units=128, value_units=128),
    "heads_16": _preset(65, heads=16, key_units=32, value_units=32),
    "heads_32": _preset(65, heads=32, key_units=16, value_units=16),
    "key_units_16": _preset(58, key_units=16),
    "key_units_32": _preset(60, key_units=32),
    "layers_2": _preset(36, layers=2),
    "layers_4": _preset(50, layers=4),
    "layers_8": _preset(80, layers=8),
    "model_units_256": _preset(28, model_units=256, key_units=32, value_units=32),
    "model_units_1024": _preset(168, model_units=1024, key_units=128, value_units=128),
    "hidden_units_1024": _preset(53, hidden_units=1024),
    "hidden_units_4096": _preset(90, hidden_units=4096),
    "dropout_0.0": _preset(65, dropout=0.0),
    "dropout_0.2": _preset(65, dropout=0.2),
    "label_smoothing_0.0": _preset(65, label_smoothing=0.0),
    "label_smoothing_0.2": _preset(65, label_smoothing=0.2),
    "learned_positions": _preset(65, positions=LEARNED),
    "big": _preset(213, model_units=1024, hidden_units=4096, heads=16, dropout=0.3),
}
"""The models of the paper's Table 3 by name: base, rows A to E, big. Where the paper's column of
parameters is empty, it is the base model's."""
