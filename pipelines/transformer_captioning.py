"""The captioning recipe with a Transformer in the place of the recurrent decoder."""

from dataclasses import dataclass

from keras_attn.layers.residual import POST, PRE
from keras_attn.models.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.transformer_config import DECODER, TransformerConfig
from pipelines.choices import check_heads
from pipelines.picture_recipe import PictureRecipe
from pipelines.recipe import option


@dataclass(frozen=True, kw_only=True)
class TransformerCaptioningRecipe(PictureRecipe):
    """A Transformer over a picture's grid from a folder of captioned pictures.

    Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "transformer_captioning"
    source = "a Transformer over the grid of a picture encoder"
    chosen = {**PictureRecipe.chosen, "norm": (PRE, POST)}
    settled = (
        *PictureRecipe.settled,
        "encoder_layers",
        "layers",
        "model_units",
        "hidden_units",
        "heads",
        "norm",
    )

    encoder_layers: int = option(2, "layers over the grid; 0: features are read as they are")
    layers: int = option(3, "layers of the decoder")
    model_units: int = option(256, "width of the Transformer")
    hidden_units: int = option(1024, "width of the feed-forward layers")
    heads: int = option(4, "attention heads")
    norm: str = option(PRE, "pre or post: where the layer normalization is")
    weight_dropout: float = option(0.0, "dropout probability of attention weights")

    def __post_init__(self):
        super().__post_init__()
        check_heads(self.model_units, self.heads)

    def decoder(self, vocabulary_size):
        """See `PictureRecipe`."""
        units = self.model_units // self.heads
        config = TransformerConfig(
            vocabulary_size=vocabulary_size,
            layers=self.layers,
            model_units=self.model_units,
            hidden_units=self.hidden_units,
            heads=self.heads,
            key_units=units,
            value_units=units,
            dropout=self.dropout,
            weight_dropout=self.weight_dropout,
            norm=self.norm,
            tied=DECODER,
        )
        return TransformerCaptionDecoder(config, self.encoder_layers, name="decoder")
