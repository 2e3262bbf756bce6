"""A Transformer on photographs: EfficientNet-Lite0 features, encoder, decoder.

Command:
    keras-attn train flickr8k_transformer --data flickr8k --out runs/transformer

Time: 22 minutes on two shared CPU cores with AVX-512, features (1 minute, 840 MB of disk) apart.
Expected on dev, beam 4: BLEU-4 21.1, CIDEr-D 0.500, METEOR 19.7; trained with the encoder on
changed pictures, then self-critically, and averaged (see README): 24.1, 0.590 and 20.8.
"""

from dataclasses import dataclass

from pipelines.recipe import option
from pipelines.transformer_captioning import TransformerCaptioningRecipe


@dataclass(frozen=True, kw_only=True)
class Flickr8kTransformer(TransformerCaptioningRecipe):
    """A Transformer over the 7×7 grid of a frozen EfficientNet-Lite0."""

    vocabulary_size: int = option(3000, "most pieces that the tokenizer learns")
    lengths: tuple[int, ...] = option((14, 17, 20, 24, 30, 40), "bucket lengths in pieces")
    epochs: int = option(14, "passes over the training pictures")
    learning_rate: float = option(8e-4, "peak learning rate")
    warmup_steps: int = option(400, "optimizer steps of warm-up")
    average: int = option(3, "last epochs whose mean weights are tried at the end; 1: none")
    encoder_rate: float = option(0.1, "learning rate of the encoder, as a share of the rest's")


RECIPE = Flickr8kTransformer
