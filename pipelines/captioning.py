"""The captioning recipe: Show, Attend and Tell."""

from dataclasses import dataclass

from keras_attn.models.attention_reader import AttentionReader
from keras_attn.models.caption_decoder import CaptionDecoder, CaptionDecoderConfig
from keras_attn.models.fixed_readers import BottleneckReader, MeanReader
from keras_attn.models.hard_attention_reader import HardAttentionReader
from pipelines.picture_recipe import PictureRecipe
from pipelines.recipe import option

CONTEXTS = ("soft", "hard", "mean", "bottleneck")


@dataclass(frozen=True, kw_only=True)
class CaptioningRecipe(PictureRecipe):
    """Show, Attend and Tell from a folder of captioned pictures. Subclass it to change parts."""

    kind = "captioning"
    source = "Show, Attend and Tell"
    chosen = {**PictureRecipe.chosen, "context": CONTEXTS}
    settled = (
        *PictureRecipe.settled,
        "embedding_dim",
        "hidden_dim",
        "context",
        "attention_dim",
        "feature_dim",
    )

    embedding_dim: int = option(256, "width of embeddings and deep output")
    hidden_dim: int = option(512, "width of the LSTM")
    context: str = option("soft", "soft or hard attention, or none: mean (feature) or bottleneck")
    attention_dim: int = option(256, "width of the attention's hidden layer")
    feature_dim: int = option(0, "width to which features are projected first; 0: as they are")
    attention_penalty: float = option(1.0, "weight of the doubly stochastic penalty (soft)")

    def reader(self):
        """What the decoder reads of the picture at each step."""
        if self.context == "soft":
            return AttentionReader(self.attention_dim)
        if self.context == "hard":
            return HardAttentionReader(self.attention_dim, seed=self.seed)
        return MeanReader() if self.context == "mean" else BottleneckReader()

    def decoder(self, vocabulary_size):
        """See `PictureRecipe`."""
        config = CaptionDecoderConfig(
            vocabulary_size=vocabulary_size,
            embedding_dim=self.embedding_dim,
            hidden_dim=self.hidden_dim,
            feature_dim=self.feature_dim or None,
            dropout=self.dropout,
        )
        return CaptionDecoder(config, self.reader(), name="decoder")

    def penalty(self):
        """See `PictureRecipe`."""
        return self.attention_penalty if self.context == "soft" else 0.0
