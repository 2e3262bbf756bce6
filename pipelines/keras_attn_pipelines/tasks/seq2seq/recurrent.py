"""The recurrent encoder–decoder with attention."""

from typing import Any, ClassVar, Protocol

from keras_attn.contracts import LOGITS, SOURCE, TOKENS
from keras_attn_pipelines.data.vocabulary import SOURCE_TOKENIZER, TOKENIZER
from keras_attn_pipelines.experiment.fields import choice, option, part
from keras_attn_pipelines.experiment.location_sampling import LocationSampling
from keras_attn_pipelines.experiment.parts import Built

LSTM, GRU = "lstm", "gru"
DOT, MULTIPLICATIVE, ADDITIVE, LOCATION = "dot", "multiplicative", "additive", "location"
CONTENT_SCORES = (DOT, MULTIPLICATIVE, ADDITIVE)
SCORE = "score of the attention; dot needs a decoder as wide as the encoder's output"
WINDOW = "positions on each side of a local attention's center"
MAX_LOCATIONS = 1024


class Scope(Protocol):
    """What the attention of a decoder sees."""

    def build(self, units: int, seed: int) -> Any:
        """A `ScoredAttention` layer for a decoder of this width."""

    def describe(self) -> str:
        """What a model card says of it."""


@part
class Global:
    """Attention to every source position."""

    score: str = option(SCORE, default=ADDITIVE, settled=True, choices=(*CONTENT_SCORES, LOCATION))
    hard: bool = option(
        "hard attention: one sampled position per step; may begin with a run of soft (--from)",
        default=False,
        inherited=True,
    )
    sampling: LocationSampling = LocationSampling()

    def build(self, units: int, seed: int):
        """See `Scope`."""
        from keras_attn.layers import SampledAttention

        scored = _scored(self.score, units)
        return SampledAttention(scored, self.sampling.build(seed)) if self.hard else scored

    def describe(self) -> str:
        """See `Scope`."""
        return f"{'hard' if self.hard else 'global'} {self.score} attention"


@part
class LocalMonotonic:
    """Attention to a window that moves with the target."""

    score: str = option(SCORE, default=ADDITIVE, settled=True, choices=CONTENT_SCORES)
    window: int = option(WINDOW, default=5, settled=True, least=1)

    def build(self, units: int, seed: int):
        """See `Scope`."""
        from keras_attn.layers import LocalMonotonicAttention

        return LocalMonotonicAttention(_scored(self.score, units), self.window)

    def describe(self) -> str:
        """See `Scope`."""
        return f"local-m {self.score} attention"


@part
class LocalPredictive:
    """Attention to a window that is predicted."""

    score: str = option(SCORE, default=ADDITIVE, settled=True, choices=CONTENT_SCORES)
    window: int = option(WINDOW, default=5, settled=True, least=1)

    def build(self, units: int, seed: int):
        """See `Scope`."""
        from keras_attn.layers import LocalPredictiveAttention

        return LocalPredictiveAttention(_scored(self.score, units), self.window, units)

    def describe(self) -> str:
        """See `Scope`."""
        return f"local-p {self.score} attention"


@part
class LastState:
    """No attention: all that the decoder sees of the source is the encoder's last state."""

    def build(self, units: int, seed: int):
        """See `Scope`."""
        from keras_attn.layers import LastStateAttention

        return LastStateAttention(name="attention")

    def describe(self) -> str:
        """See `Scope`."""
        return "without attention"


class Order(Protocol):
    """Where in a step the attention stands."""

    def config_fields(self) -> dict[str, bool]:
        """Fields of `RecurrentConfig`."""


@part
class Luong:
    """Attention after the cell, as in Luong et al. 2015, arXiv:1508.04025."""

    input_feeding: bool = option(
        "feed the last attentional vector to the cell", default=True, settled=True
    )

    def config_fields(self) -> dict[str, bool]:
        """See `Order`."""
        return {"input_feeding": self.input_feeding}


@part
class Bahdanau:
    """Attention before the cell, as in Bahdanau et al. 2015, arXiv:1409.0473."""

    def config_fields(self) -> dict[str, bool]:
        """See `Order`."""
        return {"attend_first": True}


SCOPES = {
    "global": Global,
    "local-m": LocalMonotonic,
    "local-p": LocalPredictive,
    "none": LastState,
}
ORDERS = {"luong": Luong, "bahdanau": Bahdanau}


def _scored(score, units):
    """The attention layer of a score."""
    from keras_attn.layers import (
        AdditiveAttention,
        DotAttention,
        LocationAttention,
        MultiplicativeAttention,
    )

    layers = {
        DOT: DotAttention,
        MULTIPLICATIVE: MultiplicativeAttention,
        ADDITIVE: lambda: AdditiveAttention(units),
        LOCATION: lambda: LocationAttention(MAX_LOCATIONS),
    }
    return layers[score]()


@part
class Recurrent:
    """Recurrent encoder and decoder with attention over sequences of tokens."""

    reads: ClassVar[tuple[str, ...]] = (SOURCE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    embedding_dim: int = option(
        "width of embeddings and of the attentional vector", default=256, settled=True, least=1
    )
    hidden_dim: int = option(
        "units of a cell; in the encoder of each direction", default=256, settled=True, least=1
    )
    num_encoder_layers: int = option(
        "recurrent layers in the encoder", default=1, settled=True, least=1
    )
    num_decoder_layers: int = option(
        "recurrent layers in the decoder", default=1, settled=True, least=1
    )
    cell: str = option("recurrent cell", default=LSTM, settled=True, choices=(LSTM, GRU))
    bidirectional: bool = option(
        "encoder that reads in both directions", default=True, settled=True
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)
    scope: Scope = choice(
        "what the attention sees: every source position, a window that moves with the target "
        "(local-m), a predicted window (local-p), or only the last state (none: no attention)",
        default=Global(),
        kinds=SCOPES,
        settled=True,
    )
    order: Order = choice(
        "attention after the cell (luong) or before it (bahdanau)",
        default=Luong(),
        kinds=ORDERS,
        settled=True,
    )

    def check(self):
        """Raises ValueError for a score of sequences of equal width, where they differ in width."""
        width = self.hidden_dim * (2 if self.bidirectional else 1)
        if getattr(self.scope, "score", None) == DOT and width != self.hidden_dim:
            raise ValueError(
                "Expected an encoder as wide as the decoder for score=dot, such as "
                "bidirectional=False. "
                f"Received: widths {width} and {self.hidden_dim}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`: one table of embeddings where both sides share a tokenizer."""
        import keras

        from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
        from keras_attn.models.recurrent.recurrent_seq2seq import RecurrentSeq2Seq
        from keras_attn.models.transformer.transformer_config import ALL, DECODER

        keras.utils.set_random_seed(seed)
        target = vocabulary_sizes[TOKENIZER]
        source = vocabulary_sizes.get(SOURCE_TOKENIZER)
        config = RecurrentConfig(
            vocabulary_size=source or target,
            target_vocabulary_size=target,
            embedding_dim=self.embedding_dim,
            hidden_dim=self.hidden_dim,
            num_encoder_layers=self.num_encoder_layers,
            num_decoder_layers=self.num_decoder_layers,
            cell=self.cell,
            bidirectional=self.bidirectional,
            **self.order.config_fields(),
            dropout=self.dropout,
            tied=DECODER if source else ALL,
        )
        attention = self.scope.build(self.hidden_dim, seed)
        model = RecurrentSeq2Seq(config, attention, name="recurrent")
        model.build()
        layers = f"{self.num_encoder_layers} + {self.num_decoder_layers}"
        cells = f"{self.cell.upper()} layers of {self.hidden_dim} units"
        words = f"a recurrent encoder–decoder, {layers} {cells}, {self.scope.describe()}"
        return Built(model, words)
