"""A Transformer over a picture's feature grid."""

from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS, TOKENS
from keras_attn_pipelines.data.vocabulary import TOKENIZER
from keras_attn_pipelines.experiment.fields import choice, option, part
from keras_attn_pipelines.experiment.picture_encoders import (
    ENCODER,
    ENCODERS,
    EfficientNetLite0,
    Encoder,
    EncoderTuning,
)
from keras_attn_pipelines.experiment.transformer_sizes import SIZES, Sizes, TransformerSizes
from keras_attn_pipelines.tasks.captioning.build import built_captioner


@part
class CaptionTransformer:
    """A Transformer encoder and decoder over the grid of a picture encoder."""

    reads: ClassVar[tuple[str, ...]] = (IMAGE, TOKENS)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    encoder: Encoder = choice(ENCODER, default=EfficientNetLite0(), kinds=ENCODERS, settled=True)
    tuning: EncoderTuning = EncoderTuning()
    num_encoder_layers: int = option(
        "encoder layers over the feature grid; 0: none", default=2, settled=True, least=0
    )
    sizes: Sizes = choice(
        "sizes and parts by flags, or those of an imported model",
        default=TransformerSizes(),
        kinds=SIZES,
        settled=True,
    )

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        from keras_attn.models.captioner.transformer_caption_decoder import (
            TransformerCaptionDecoder,
        )
        from keras_attn.models.transformer.transformer_config import DECODER, TransformerConfig

        size = vocabulary_sizes[TOKENIZER]
        config = TransformerConfig(size, **{"tied": DECODER, **self.sizes.arguments()})

        def decoder():
            return TransformerCaptionDecoder(config, self.num_encoder_layers, name="decoder")

        kind = "a Transformer over the grid of a picture encoder"
        return built_captioner(self, features, decoder, 0.0, seed, kind)
