"""Sizes of a recurrent encoder–decoder."""

from dataclasses import dataclass

from keras_attn.checks import check_choice, check_flag, check_probability, check_sizes
from keras_attn.models.language_pair import NOTHING, LanguagePair

LSTM, GRU = "lstm", "gru"


@dataclass(frozen=True)
class RecurrentConfig(LanguagePair):
    """Sizes and choices of a `RecurrentSeq2Seq`.

    Attributes:
        vocabulary_size: int. V of the source, and of the target by default.
        target_vocabulary_size: int or None. V of the target; None is one vocabulary for both.
        embedding_dim: int. E, width of embeddings and of the attentional vector ã.
        hidden_dim: int. H, width of a cell; of each direction in the encoder.
        num_encoder_layers: int.
        num_decoder_layers: int.
        cell: "lstm" or "gru".
        bidirectional: bool. Whether the encoder reads in both directions.
        input_feeding: bool. See `AttentionCell`.
        attend_first: bool. See `AttentionCell`.
        dropout: probability. On embeddings, on the outputs of encoder layers and on ã.
        tied: "none"; "decoder", target embedding = output; "all", source embedding as well.

    Raises:
        ValueError: a size < 1, an unknown choice, or tied "all" with two vocabularies.
    """

    embedding_dim: int = 256
    hidden_dim: int = 256
    num_encoder_layers: int = 1
    num_decoder_layers: int = 1
    cell: str = LSTM
    bidirectional: bool = True
    input_feeding: bool = True
    attend_first: bool = False
    dropout: float = 0.3
    tied: str = NOTHING

    def __post_init__(self):
        self.check_vocabularies()
        sizes = ("embedding_dim", "hidden_dim")
        for name in (*sizes, "num_encoder_layers", "num_decoder_layers"):
            check_sizes(**{name: getattr(self, name)})
        for name in ("bidirectional", "input_feeding", "attend_first"):
            check_flag(name, getattr(self, name))
        check_probability("dropout", self.dropout)
        check_choice("cell", self.cell, (LSTM, GRU))
