"""Sizes of a Transformer, and those of the paper's models."""

from dataclasses import dataclass, field
from typing import Any

import keras

from keras_attn.checks import check_choice, check_flag, check_probability, check_sizes
from keras_attn.layers.alibi_bias import AlibiBias
from keras_attn.layers.feed_forward import RELU, activation_function
from keras_attn.layers.learned_positions import LearnedPositions
from keras_attn.layers.multi_head import check_groups
from keras_attn.layers.multi_head_attention import check_scores
from keras_attn.layers.relative_bias import RelativeBias
from keras_attn.layers.residual import LAYER, RMS
from keras_attn.layers.rotary_positions import RotaryPositions
from keras_attn.layers.sinusoidal_positions import SinusoidalPositions
from keras_attn.layers.transformer_block import check_parallel
from keras_attn.models.language_pair import (  # noqa: F401  (the choices of `tied`)
    ALL,
    DECODER,
    NOTHING,
    LanguagePair,
)

SINUSOIDAL, LEARNED = "sinusoidal", "learned"
ROTARY, ALIBI, RELATIVE = "rotary", "alibi", "relative"
POSITIONS = (SINUSOIDAL, LEARNED, ROTARY, ALIBI, RELATIVE)


@dataclass(frozen=True)
class TransformerConfig(LanguagePair):
    """Sizes and choices of a `Transformer`; the defaults are the paper's base model.

    Attributes:
        vocabulary_size: int. V of the source, and of the target by default.
        target_vocabulary_size: int or None. V of the target; None is one vocabulary for both.
        num_layers: int. N, of the encoder and, by default, of the decoder.
        num_decoder_layers: int or None. N of the decoder; None is num_layers.
        hidden_dim: int. D, d_model.
        intermediate_dim: int. d_ff.
        num_heads: int. H.
        key_dim: int. d_k of a head.
        value_dim: int. d_v of a head.
        dropout: probability. On sublayers' outputs and on embeddings with positions.
        attention_dropout: probability. On attention weights.
        normalize_first: bool. False is LN(x + f(x)), as in the paper; True is x + f(LN(x)), with
            one more normalization on each stack.
        positions: "sinusoidal" or "learned", added to the embeddings; "rotary", "alibi" or
            "relative", inside the self-attention: `RotaryPositions`, `AlibiBias` or `RelativeBias`,
            whose table all layers of a stack share.
        max_sequence_length: int. Length of learned positions; sinusoids are unlimited.
        tied: "none"; "decoder", target embedding = output; "all", source embedding as well.
        use_bias: bool. Whether the attention's projections have a bias.
        epsilon: float > 0. Of the normalizations.
        activation: as in `FeedForward`.
        gated: bool. Whether feed-forward layers are gated.
        feed_forward_bias: bool. Whether feed-forward layers have biases.
        normalization: "layer" or "rms".
        parallel: bool. Whether the sublayers of a block read the same normalized input; requires
            normalize_first.
        num_key_value_heads: int or None. G, heads of keys and values; None is H.
        sliding_window: int or None. Of the self-attention.
        soft_cap: float or None. Of the scores.
        position_arguments: dict or None. Arguments of `SinusoidalPositions`, `RotaryPositions` or
            `RelativeBias` that differ from its defaults, such as {"base": 500000.0}.
        normalize_embeddings: bool. Whether embeddings with their positions are normalized, as in
            mBART.
        output_bias: bool. Whether the logits have a bias.
        embed_start: bool. Whether START_ID has an embedding; False is zeros, as in Marian.
        output_transform: bool. Whether a dense layer with the activation and a normalization stand
            before the logits, as in BERT.
        query_key_normalization: "layer", "rms" or "l2", of the queries and keys of all attentions,
            see `MultiHeadAttention`; or None.
        use_sinks: bool. Whether the heads of all attentions have sinks.

    Raises:
        ValueError: a size < 1, an unknown choice, tied "all" with two vocabularies, parts that do
            not fit each other.
    """

    num_layers: int = 6
    hidden_dim: int = 512
    intermediate_dim: int = 2048
    num_heads: int = 8
    key_dim: int = 64
    value_dim: int = 64
    dropout: float = 0.1
    attention_dropout: float = 0.0
    normalize_first: bool = False
    positions: str = SINUSOIDAL
    max_sequence_length: int = 1024
    tied: str = ALL
    use_bias: bool = False
    epsilon: float = 1e-6
    activation: Any = RELU
    gated: bool = False
    feed_forward_bias: bool = True
    normalization: str = LAYER
    parallel: bool = False
    num_key_value_heads: int | None = None
    sliding_window: int | None = None
    soft_cap: float | None = None
    position_arguments: dict[str, Any] | None = None
    num_decoder_layers: int | None = None
    normalize_embeddings: bool = False
    output_bias: bool = False
    embed_start: bool = True
    output_transform: bool = False
    query_key_normalization: str | None = None
    use_sinks: bool = False

    def __post_init__(self):
        self.check_vocabularies()
        sizes = ("num_layers", "hidden_dim", "intermediate_dim", "num_heads")
        for name in (*sizes, "key_dim", "value_dim", "max_sequence_length"):
            check_sizes(**{name: getattr(self, name)})
        if self.num_decoder_layers is not None:
            check_sizes(num_decoder_layers=self.num_decoder_layers)
        for name in ("normalize_first", "use_bias", "gated", "feed_forward_bias", "parallel"):
            check_flag(name, getattr(self, name))
        for name in (
            "normalize_embeddings",
            "output_bias",
            "embed_start",
            "output_transform",
            "use_sinks",
        ):
            check_flag(name, getattr(self, name))
        for name in ("dropout", "attention_dropout"):
            check_probability(name, getattr(self, name))
        if not self.epsilon > 0:
            raise ValueError(f"Expected epsilon > 0. Received: epsilon={self.epsilon}")
        check_choice("positions", self.positions, POSITIONS)
        check_choice("normalization", self.normalization, (LAYER, RMS))
        check_parallel(self.parallel, self.normalize_first)
        check_groups(self.num_heads, self.num_key_value_heads)
        check_scores(self.sliding_window, self.soft_cap, self.query_key_normalization)
        activation_function(self.activation)
        self._check_positions()

    def _check_positions(self):
        """Raises ValueError unless the positions can be made and fit the heads."""
        known = (SINUSOIDAL, ROTARY, RELATIVE)
        if self.position_arguments and self.positions not in known:
            raise ValueError(
                f"Expected position_arguments with positions in {known}. "
                f"Received: positions={self.positions!r}"
            )
        try:
            self.added_positions()
            inside = self.relative_positions()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Expected position_arguments for positions {self.positions!r}. "
                f"Received: {self.position_arguments}; {error}"
            ) from error
        if inside is not None:
            inside.check_heads(self.num_heads, self.key_dim)

    @property
    def decoder_layers(self):
        """N of the decoder."""
        return self.num_decoder_layers or self.num_layers

    @property
    def block(self):
        """Arguments of an encoder's or a decoder's block."""
        return {
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "normalize_first": self.normalize_first,
            "use_bias": self.use_bias,
            "epsilon": self.epsilon,
            "activation": self.activation,
            "gated": self.gated,
            "feed_forward_bias": self.feed_forward_bias,
            "normalization": self.normalization,
            "parallel": self.parallel,
            "num_key_value_heads": self.num_key_value_heads,
            "sliding_window": self.sliding_window,
            "soft_cap": self.soft_cap,
            "query_key_normalization": self.query_key_normalization,
            "use_sinks": self.use_sinks,
        }

    def added_positions(self, **kwargs):
        """The positions added to embeddings, a layer; None for those inside attention.

        Args:
            **kwargs: of the layer.
        """
        if self.positions == LEARNED:
            stddev = keras.initializers.RandomNormal(stddev=0.02)
            return LearnedPositions(self.max_sequence_length, initializer=stddev, **kwargs)
        if self.positions == SINUSOIDAL:
            return SinusoidalPositions(**(self.position_arguments or {}), **kwargs)
        return None

    def relative_positions(self, bidirectional=True, **kwargs):
        """The positions inside a stack's self-attention, a layer; None for those added before it.

        Args:
            bidirectional: bool. Whether a query sees keys after it.
            **kwargs: of the layer.
        """
        arguments = {**(self.position_arguments or {}), **kwargs}
        if self.positions == ROTARY:
            return RotaryPositions(**arguments)
        if self.positions == ALIBI:
            return AlibiBias(self.num_heads, **arguments)
        if self.positions == RELATIVE:
            return RelativeBias(self.num_heads, **{"bidirectional": bidirectional, **arguments})
        return None


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
        """`TransformerConfig` for a vocabulary, with changed fields."""
        return TransformerConfig(vocabulary_size, **{**self.sizes, **changes})


def _preset(millions, label_smoothing=0.1, **sizes):
    return Preset(millions, sizes, label_smoothing)


PRESETS = {
    "base": _preset(65),
    "num_heads_1": _preset(65, num_heads=1, key_dim=512, value_dim=512),
    "num_heads_4": _preset(65, num_heads=4, key_dim=128, value_dim=128),
    "num_heads_16": _preset(65, num_heads=16, key_dim=32, value_dim=32),
    "num_heads_32": _preset(65, num_heads=32, key_dim=16, value_dim=16),
    "key_dim_16": _preset(58, key_dim=16),
    "key_dim_32": _preset(60, key_dim=32),
    "num_layers_2": _preset(36, num_layers=2),
    "num_layers_4": _preset(50, num_layers=4),
    "num_layers_8": _preset(80, num_layers=8),
    "hidden_dim_256": _preset(28, hidden_dim=256, key_dim=32, value_dim=32),
    "hidden_dim_1024": _preset(168, hidden_dim=1024, key_dim=128, value_dim=128),
    "intermediate_dim_1024": _preset(53, intermediate_dim=1024),
    "intermediate_dim_4096": _preset(90, intermediate_dim=4096),
    "dropout_0.0": _preset(65, dropout=0.0),
    "dropout_0.2": _preset(65, dropout=0.2),
    "label_smoothing_0.0": _preset(65, label_smoothing=0.0),
    "label_smoothing_0.2": _preset(65, label_smoothing=0.2),
    "learned_positions": _preset(65, positions=LEARNED),
    "big": _preset(213, hidden_dim=1024, intermediate_dim=4096, num_heads=16, dropout=0.3),
}
"""The models of the paper's Table 3 by name: base, rows A to E, big. Where the paper's column of
parameters is empty, it is the base model's."""
