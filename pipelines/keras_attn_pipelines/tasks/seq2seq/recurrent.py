"""The recurrent encoder–decoder with attention."""

from typing import ClassVar

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.tasks.seq2seq.names import (
    LOGITS,
    SOURCE,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    TOKENS,
)

LSTM, GRU = "lstm", "gru"
DOT, MULTIPLICATIVE, ADDITIVE, LOCATION = "dot", "multiplicative", "additive", "location"
GLOBAL, LOCAL_M, LOCAL_P, NONE = "global", "local-m", "local-p", "none"
HARD = "hard"
LUONG, BAHDANAU = "luong", "bahdanau"
MAX_LOCATIONS = 1024


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
    score: str = option(
        "score of the attention; dot needs a decoder as wide as the encoder's output",
        default=ADDITIVE,
        settled=True,
        choices=(DOT, MULTIPLICATIVE, ADDITIVE, LOCATION),
    )
    scope: str = option(
        "what the attention sees: every source position, a window that moves with the target "
        "(local-m), a predicted window (local-p), or only the last state (none: no attention)",
        default=GLOBAL,
        settled=True,
        choices=(GLOBAL, LOCAL_M, LOCAL_P, NONE),
    )
    hard: bool = option(
        "hard attention: one sampled position per step, trained by REINFORCE (scope global)",
        default=False,
        settled=True,
    )
    window: int = option(
        "positions on each side of a local attention's center", default=5, settled=True, least=1
    )
    order: str = option(
        "attention after the cell (luong) or before it (bahdanau)",
        default=LUONG,
        settled=True,
        choices=(LUONG, BAHDANAU),
    )
    input_feeding: bool = option(
        "feed the last attentional vector to the cell (luong)", default=True, settled=True
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)

    def check(self):
        """Raises ValueError for choices that do not go together."""
        width = self.hidden_dim * (2 if self.bidirectional else 1)
        if self.score == DOT and self.scope != NONE and width != self.hidden_dim:
            raise ValueError(
                "Expected an encoder as wide as the decoder for score=dot, such as "
                "bidirectional=False. "
                f"Received: widths {width} and {self.hidden_dim}"
            )
        if self.hard and self.scope != GLOBAL:
            raise ValueError(
                f"Expected scope=global for hard attention. Received: scope={self.scope}"
            )
        if self.score == LOCATION and self.scope in (LOCAL_M, LOCAL_P):
            raise ValueError(
                "Expected a score of the contents for a local attention. "
                f"Received: score={self.score}, scope={self.scope}"
            )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`: one table of embeddings where both sides share a tokenizer."""
        import keras

        from keras_attn.models.recurrent.recurrent_config import RecurrentConfig
        from keras_attn.models.recurrent.recurrent_seq2seq import RecurrentSeq2Seq
        from keras_attn.models.transformer.transformer_config import ALL, DECODER

        keras.utils.set_random_seed(seed)
        target = vocabulary_sizes[TARGET_TOKENIZER]
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
            input_feeding=self.input_feeding,
            attend_first=self.order == BAHDANAU,
            dropout=self.dropout,
            tied=DECODER if source else ALL,
        )
        model = RecurrentSeq2Seq(config, self._attention(seed), name="recurrent")
        model.build()
        words = (
            "without attention"
            if self.scope == NONE
            else f"{HARD if self.hard else self.scope} {self.score} attention"
        )
        layers = f"{self.num_encoder_layers} + {self.num_decoder_layers}"
        cells = f"{self.cell.upper()} layers of {self.hidden_dim} units"
        return Built(model, f"a recurrent encoder–decoder, {layers} {cells}, {words}")

    def _attention(self, seed):
        from keras_attn.layers import (
            AdditiveAttention,
            DotAttention,
            LastStateAttention,
            LocalMonotonicAttention,
            LocalPredictiveAttention,
            LocationAttention,
            LocationSampler,
            MultiplicativeAttention,
            SampledAttention,
        )

        if self.scope == NONE:
            return LastStateAttention(name="attention")
        scores = {
            DOT: DotAttention,
            MULTIPLICATIVE: MultiplicativeAttention,
            ADDITIVE: lambda: AdditiveAttention(self.hidden_dim),
            LOCATION: lambda: LocationAttention(MAX_LOCATIONS),
        }
        scored = scores[self.score]()
        if self.scope == LOCAL_M:
            return LocalMonotonicAttention(scored, self.window)
        if self.scope == LOCAL_P:
            return LocalPredictiveAttention(scored, self.window, self.hidden_dim)
        if self.hard:
            return SampledAttention(scored, LocationSampler(seed=seed))
        return scored
