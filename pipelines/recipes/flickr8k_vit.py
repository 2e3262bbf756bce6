"""Only Transformers: a Vision Transformer over patches, and a decoder that reads it.

Command:
    keras-attn train flickr8k_vit --data flickr8k --out runs/vit --flip --crop 0.6 --patience 8

Time: 31 minutes on two shared CPU cores with AVX-512. Expected on dev, beam 4: BLEU-4 9.6, CIDEr-D
0.185, METEOR 13.6. With `--pretrained CHECKPOINT` sizes of the Vision Transformer are the
checkpoint's; from scratch 6,000 pictures are few.
"""

from dataclasses import dataclass

from keras_attn.models.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer_checkpoint import load_vision_transformer
from keras_attn.models.vision_transformer_config import VisionTransformerConfig
from pipelines.recipe import option
from pipelines.transformer_captioning import TransformerCaptioningRecipe


@dataclass(frozen=True, kw_only=True)
class Flickr8kVit(TransformerCaptioningRecipe):
    """A Vision Transformer, from scratch or pretrained, and a Transformer's decoder."""

    settled = (*TransformerCaptioningRecipe.settled, "patch_size", "num_vision_layers")

    pretrained: str = option("", "weights: file, folder or hub name of a ViT; none: from scratch")
    patch_size: int = option(32, "height and width of a patch in pixels; from scratch")
    num_vision_layers: int = option(6, "layers over the patches; from scratch")
    num_encoder_layers: int = option(
        0, "layers over the Vision Transformer's output; 0: read as it is"
    )
    vocabulary_size: int = option(3000, "most pieces that the tokenizer learns")
    lengths: tuple[int, ...] = option((14, 17, 20, 24, 30, 40), "bucket lengths in pieces")
    fine_tune: bool = option(True, "train the encoder too, without a feature cache")
    epochs: int = option(8, "passes over the training pictures")
    learning_rate: float = option(5e-4, "peak learning rate")
    warmup_steps: int = option(400, "optimizer steps of warm-up")
    average: int = option(3, "last epochs whose mean weights are tried at the end; 1: none")

    def encoder(self):
        """See `PictureRecipe`: of the Transformer's own width and heads, where it is new."""
        if self.pretrained:
            return load_vision_transformer(self.pretrained)
        config = VisionTransformerConfig(
            image_size=(self.image_size, self.image_size),
            patch_size=self.patch_size,
            num_layers=self.num_vision_layers,
            hidden_dim=self.hidden_dim,
            intermediate_dim=self.intermediate_dim,
            num_heads=self.num_heads,
            dropout=0.1,
            pooling="mean",
        )
        return VisionTransformer(config)


RECIPE = Flickr8kVit
