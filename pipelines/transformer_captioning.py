"""The captioning recipe with a Transformer in the place of the recurrent decoder."""

from dataclasses import dataclass

from keras_attn.models.transformer_caption_decoder import TransformerCaptionDecoder
from keras_attn.models.transformer_config import DECODER, TransformerConfig
from pipelines.picture_recipe import PictureRecipe
from pipelines.recipe import option
from pipelines.transformer_choices import TransformerChoices


@dataclass(frozen=True, kw_only=True)
class TransformerCaptioningRecipe(PictureRecipe, TransformerChoices):
    """A Transformer over a picture's grid from a folder of captioned pictures.

    Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "transformer_captioning"
    source = "a Transformer over the grid of a picture encoder"
    settled = (*TransformerChoices.settled, "image_size", "fit", "num_encoder_layers")

    num_encoder_layers: int = option(2, "layers over the grid; 0: features are read as they are")
    num_layers: int = option(3, "layers of the decoder")

    def decoder(self, vocabulary_size):
        """See `PictureRecipe`."""
        config = TransformerConfig(vocabulary_size, tied=DECODER, **self.sizes())
        return TransformerCaptionDecoder(config, self.num_encoder_layers, name="decoder")
