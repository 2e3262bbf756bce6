"""Show, Attend and Tell: a recurrent decoder with attention over the feature grid."""

from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS, TOKENS
from keras_attn_pipelines.data.vocabulary import TOKENIZER
from keras_attn_pipelines.experiment.fields import INFINITY, choice, option, part
from keras_attn_pipelines.experiment.location_sampling import LocationSampling
from keras_attn_pipelines.experiment.picture_encoders import (
    ENCODER,
    ENCODERS,
    EfficientNetLite0,
    Encoder,
    EncoderTuning,
)
from keras_attn_pipelines.tasks.captioning.build import built_captioner

LSTM, GRU = "lstm", "gru"
SOFT, HARD, MEAN, BOTTLENECK = "soft", "hard", "mean", "bottleneck"


@part
class ShowAttendTell:
    """Show, Attend and Tell."""

    reads: ClassVar[tuple[str, ...]] = (IMAGE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    encoder: Encoder = choice(ENCODER, default=EfficientNetLite0(), kinds=ENCODERS, settled=True)
    tuning: EncoderTuning = EncoderTuning()
    embedding_dim: int = option(
        "width of word embeddings and the deep output layer", default=256, settled=True, least=1
    )
    cell: str = option(
        "recurrent cell of the decoder", default=LSTM, settled=True, choices=(LSTM, GRU)
    )
    hidden_dim: int = option("number of units in the cell", default=512, settled=True, least=1)
    context: str = option(
        "context read at each step: soft or hard attention (which may begin with a run of soft, "
        "--from), the mean feature, or one vector",
        default=SOFT,
        inherited=(SOFT, HARD),
        choices=(SOFT, HARD, MEAN, BOTTLENECK),
    )
    sampling: LocationSampling = LocationSampling()
    attention_dim: int = option(
        "width of the attention's hidden layer",
        default=256,
        settled=True,
        needs={"context": (SOFT, HARD)},
        least=1,
    )
    feature_dim: int = option(
        "project features to this width first; 0: no projection",
        default=0,
        settled=True,
        least=0,
    )
    attention_penalty: float = option(
        "weight of the doubly stochastic attention penalty",
        default=1.0,
        needs={"context": SOFT},
        least=0,
    )
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)
    logits_gain: float = option(
        "factor of the initial weights of the output layer; more than 1 can learn faster",
        default=1.0,
        above=0,
        below=INFINITY,
    )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        from keras_attn.models.captioner.caption_decoder import CaptionDecoder, CaptionDecoderConfig

        config = CaptionDecoderConfig(
            vocabulary_size=vocabulary_sizes[TOKENIZER],
            embedding_dim=self.embedding_dim,
            hidden_dim=self.hidden_dim,
            feature_dim=self.feature_dim or None,
            dropout=self.dropout,
            logits_gain=self.logits_gain,
        )
        penalty = self.attention_penalty if self.context == SOFT else 0.0

        def decoder():
            return CaptionDecoder(config, self._attention(seed), self._cell(), name="decoder")

        return built_captioner(self, features, decoder, penalty, seed, "Show, Attend and Tell")

    def _cell(self):
        """The recurrent cell; None for the decoder's default."""
        from keras_attn.layers import ContextGRUCell

        return ContextGRUCell(self.hidden_dim, name="cell") if self.cell == GRU else None

    def _attention(self, seed):
        """What the decoder reads from the picture at each step."""
        from keras_attn.models.captioner.fixed_contexts import BottleneckContext, MeanContext
        from keras_attn.models.captioner.hard_attention import HardAttention
        from keras_attn.models.captioner.soft_attention import SoftAttention

        if self.context == SOFT:
            return SoftAttention(self.attention_dim)
        if self.context == HARD:
            return HardAttention(self.attention_dim, self.sampling.build(seed))
        return MeanContext() if self.context == MEAN else BottleneckContext()
