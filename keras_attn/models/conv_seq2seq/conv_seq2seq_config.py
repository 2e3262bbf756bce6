"""Sizes of a convolutional sequence-to-sequence model, and those of the paper's models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keras_attn.checks import check_choice, check_probability, check_sizes
from keras_attn.models.language_pair import NOTHING, LanguagePair
from keras_attn.models.transformer.transformer_config import (
    LEARNED,
    SINUSOIDAL,
)

Layers = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class ConvSeq2SeqConfig(LanguagePair):
    """Sizes and choices of a `ConvSeq2Seq`; the defaults are the paper's English-Romanian model.

    Attributes:
        vocabulary_size: int. V of the source, and of the target by default.
        target_vocabulary_size: int or None. V of the target; None is one vocabulary for both.
        encoder_layers: pairs (channels, kernel width) by layer; widths are odd.
        decoder_layers: pairs (channels, kernel width) by layer.
        embedding_dim: int. E, of tokens, positions, encoder outputs and attention.
        output_dim: int. Width of the decoder's output before the logits.
        dropout: probability. On embeddings with positions, on the inputs of convolutions and on
            the decoder's output.
        positions: "learned" or "sinusoidal"; sinusoids are scaled by 0.1, the standard deviation
            of embeddings.
        max_sequence_length: int. Length of learned positions; sinusoids are unlimited.
        tied: "none"; "decoder", target embedding = output; "all", source embedding as well.

    Raises:
        ValueError: a size < 1, no layers, an even kernel width in the encoder, an unknown choice,
            tied embeddings with output_dim ≠ embedding_dim, or tied "all" with two vocabularies.
    """

    encoder_layers: Layers = ((512, 3),) * 20
    decoder_layers: Layers = ((512, 3),) * 20
    embedding_dim: int = 512
    output_dim: int = 512
    dropout: float = 0.1
    positions: str = LEARNED
    max_sequence_length: int = 1024
    tied: str = NOTHING

    def __post_init__(self):
        self.check_vocabularies()
        for name in ("embedding_dim", "output_dim", "max_sequence_length"):
            check_sizes(**{name: getattr(self, name)})
        for name in ("encoder_layers", "decoder_layers"):
            object.__setattr__(self, name, _checked_layers(name, getattr(self, name)))
        even = [width for _, width in self.encoder_layers if width % 2 == 0]
        if even:
            raise ValueError(
                "Expected odd kernel widths in encoder_layers. Received: "
                f"widths {', '.join(map(str, even))}"
            )
        check_probability("dropout", self.dropout)
        check_choice("positions", self.positions, (LEARNED, SINUSOIDAL))
        if self.tied != NOTHING and self.output_dim != self.embedding_dim:
            raise ValueError(
                f"Expected output_dim=embedding_dim for tied={self.tied!r}. Received: "
                f"output_dim={self.output_dim}, embedding_dim={self.embedding_dim}"
            )


def _checked_layers(name, layers):
    """Layers as a tuple of pairs of int; ValueError for anything else."""
    try:
        pairs = tuple((channels, width) for channels, width in layers)
    except (TypeError, ValueError):
        pairs = ()
    if not pairs:
        raise ValueError(
            f"Expected {name} as pairs (channels, kernel width). Received: {name}={layers!r}"
        )
    for channels, width in pairs:
        check_sizes(**{f"channels of {name}": channels, f"kernel widths of {name}": width})
    return pairs


@dataclass(frozen=True)
class ConvSeq2SeqPreset:
    """A published model.

    Attributes:
        sizes: arguments of `ConvSeq2SeqConfig` that differ from its defaults.
    """

    sizes: dict[str, Any]

    def config(self, vocabulary_size, **changes):
        """`ConvSeq2SeqConfig` for a vocabulary, with changed fields."""
        return ConvSeq2SeqConfig(vocabulary_size, **{**self.sizes, **changes})


def _both(*layers, **sizes):
    """A preset with as many layers of each pair as given, in the encoder and in the decoder."""
    stack = tuple(pair for pair, count in layers for _ in range(count))
    return ConvSeq2SeqPreset({"encoder_layers": stack, "decoder_layers": stack, **sizes})


CONV_SEQ2SEQ_PRESETS = {
    "wmt16_en_ro": _both(((512, 3), 20)),
    "wmt14_en_de": _both(((512, 3), 10), ((768, 3), 3), ((2048, 1), 2)),
    "wmt14_en_fr": _both(
        ((512, 3), 5), ((768, 3), 4), ((1024, 3), 3), ((2048, 1), 1), ((4096, 1), 1)
    ),
    "fairseq_wmt14_en_de": _both(((512, 3), 9), ((1024, 3), 4), ((2048, 1), 2), embedding_dim=768),
    "fairseq_wmt14_en_fr": _both(
        ((512, 3), 6),
        ((768, 3), 4),
        ((1024, 3), 3),
        ((2048, 1), 1),
        ((4096, 1), 1),
        embedding_dim=768,
    ),
    "iwslt14_de_en": ConvSeq2SeqPreset(
        {
            "encoder_layers": ((256, 3),) * 4,
            "decoder_layers": ((256, 3),) * 3,
            "embedding_dim": 256,
            "output_dim": 256,
        }
    ),
}
"""The models of the paper's section 5.1 by name, two of them also as in the authors' later program
(fairseq), whose layers differ, and that program's small model. For English-French the paper has
15 layers, of which it names 14."""
