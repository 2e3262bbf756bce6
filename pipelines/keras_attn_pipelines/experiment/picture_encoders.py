"""Picture encoders, parts inside models of captioning and classification."""

import json
from typing import Any, ClassVar, Protocol

from keras_attn_pipelines.experiment.fields import option, part
from keras_attn_pipelines.experiment.picture_options import CHECKPOINT, PREPROCESSING
from keras_attn_pipelines.experiment.transformer_sizes import check_object

IMAGENET, RANDOM = "imagenet", "random"


class Encoder(Protocol):
    """A picture encoder and its sizes.

    An encoder may have a method `check_pictures(pictures)`, which raises ValueError for
    `PictureOptions` that it does not go with; and `from_scratch`, whether it has random weights.
    """

    def build(self, image_size: int) -> Any:
        """A Keras layer, uint8 (B, image_size, image_size, 3) to (B, rows, columns, D) or (B, S,
        D), see `Captioner`."""


@part
class EncoderTuning:
    """Whether, and from which step, the encoder is trained too."""

    fine_tune: bool = option("train the encoder too, without caching its features", default=False)
    unfreeze_step: int = option(
        "with fine_tune, step at which encoder training begins; until then features are cached",
        default=0,
        least=0,
    )

    def check(self):
        """Raises ValueError for an `unfreeze_step` without `fine_tune`."""
        if self.unfreeze_step and not self.fine_tune:
            raise ValueError(
                "Expected fine_tune with unfreeze_step. Received: "
                f"fine_tune={self.fine_tune}, unfreeze_step={self.unfreeze_step}"
            )


@part
class EfficientNetLite0:
    """EfficientNet-Lite0 with ImageNet weights."""

    def build(self, image_size):
        """See `Encoder`."""
        from keras_attn.models.image_encoders.efficientnet_lite0_encoder import (
            EfficientNetLite0Encoder,
        )

        return EfficientNetLite0Encoder(weights="imagenet")


@part
class EfficientNetLite2:
    """EfficientNet-Lite2 with ImageNet weights."""

    def build(self, image_size):
        """See `Encoder`."""
        from keras_attn.models.image_encoders.efficientnet_lite2_encoder import (
            EfficientNetLite2Encoder,
        )

        return EfficientNetLite2Encoder(weights="imagenet")


@part
class SmallConv:
    """A small CNN from scratch."""

    from_scratch: ClassVar[bool] = True

    def build(self, image_size):
        """See `Encoder`."""
        from keras_attn.models.image_encoders.small_conv_encoder import SmallConvEncoder

        return SmallConvEncoder()


@part
class Applications:
    """A network of keras.applications."""

    network: str = option(
        "network of keras.applications, for example ConvNeXtTiny or MobileNetV3Small",
        default="EfficientNetV2B0",
        settled=True,
    )
    weights: str = option(
        f"its initial weights: {IMAGENET}, which are downloaded, {RANDOM}, or a .keras or "
        ".weights.h5 file of the network without its top",
        default=IMAGENET,
    )

    @property
    def from_scratch(self) -> bool:
        """See `Encoder`."""
        return self.weights == RANDOM

    def build(self, image_size):
        """See `Encoder`: from scratch, training uses the statistics of batches."""
        from keras_attn.models.image_encoders.applications_encoder import ApplicationsEncoder

        weights = None if self.weights == RANDOM else self.weights
        return ApplicationsEncoder(self.network, weights, batch_moments=weights is None)


@part
class KerasHub:
    """An image backbone of keras-hub, with its weights and its scaling of pixels."""

    preset: str = option(
        "preset of an image backbone of keras-hub: a name, a handle or a folder", default=""
    )

    def build(self, image_size):
        """See `Encoder`."""
        from keras_attn.models.image_encoders.keras_hub_encoder import KerasHubEncoder

        if not self.preset:
            raise ValueError("Expected --preset with --encoder keras_hub. Received: none")
        return KerasHubEncoder.from_preset(self.preset)


NOTHING = "{}"
"""No arguments, as JSON."""
NOT_IMPORTED = {"vision": NOTHING}
FROM_SCRATCH = {"pretrained": False}
OWN_SIZES = (FROM_SCRATCH, NOT_IMPORTED)


@part
class PatchTransformer:
    """A Vision Transformer, from scratch or pretrained."""

    pretrained: str = option(
        "pretrained ViT, CLIP, SigLIP, DINO or DeiT: file, folder or hub name; none: train from "
        "scratch",
        default="",
        needs=NOT_IMPORTED,
    )
    preprocessing: str = option(
        "with pretrained: require the flags to resize pictures as the checkpoint wants them, or "
        "take the flags as they are",
        default=CHECKPOINT,
        needs={"pretrained": True},
        choices=PREPROCESSING,
    )
    patch_size: int = option(
        "patch size in pixels; without pretrained",
        default=32,
        settled=True,
        needs=OWN_SIZES,
        least=1,
    )
    num_vision_layers: int = option(
        "layers in the Vision Transformer; without pretrained",
        default=6,
        settled=True,
        needs=OWN_SIZES,
        least=1,
    )
    vision_dim: int = option(
        "width of the Vision Transformer; without pretrained",
        default=256,
        settled=True,
        needs=OWN_SIZES,
        least=1,
    )
    vision_intermediate_dim: int = option(
        "width of its feed-forward layers; without pretrained",
        default=1024,
        settled=True,
        needs=OWN_SIZES,
        least=1,
    )
    num_vision_heads: int = option(
        "its attention heads; without pretrained",
        default=4,
        settled=True,
        needs=OWN_SIZES,
        least=1,
    )
    vision_dropout: float = option(
        "its dropout probability; without pretrained",
        default=0.1,
        needs=OWN_SIZES,
        least=0,
        below=1,
    )
    vision: str = option(
        "of an imported captioner, whose decoder sees the class token, too: arguments of "
        "VisionTransformerConfig as JSON, which keras-attn import writes; instead of the others",
        default=NOTHING,
        settled=True,
    )

    @property
    def from_scratch(self) -> bool:
        """See `Encoder`."""
        return not (self.pretrained or json.loads(self.vision))

    def check(self):
        """Raises ValueError unless the arguments are an object of JSON."""
        check_object("vision", self.vision)

    def check_pictures(self, pictures):
        """See `Encoder`."""
        if self.pretrained and self.preprocessing == CHECKPOINT:
            pictures.check_checkpoint(self.pretrained)

    def build(self, image_size):
        """See `Encoder`."""
        from keras_attn.models.vision_transformer.vision_sequence import VisionSequence
        from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
        from keras_attn.models.vision_transformer.vision_transformer_config import (
            VisionTransformerConfig,
        )
        from keras_attn.pretrained.vision_transformer import load_vision_transformer

        if arguments := json.loads(self.vision):
            imported = VisionTransformer(VisionTransformerConfig(**arguments), name="vision")
            return VisionSequence(imported, name="encoder")
        if self.pretrained:
            return load_vision_transformer(self.pretrained)
        config = VisionTransformerConfig(
            image_size=(image_size, image_size),
            patch_size=self.patch_size,
            num_layers=self.num_vision_layers,
            hidden_dim=self.vision_dim,
            intermediate_dim=self.vision_intermediate_dim,
            num_heads=self.num_vision_heads,
            dropout=self.vision_dropout,
            pooling="mean",
        )
        return VisionTransformer(config)


ENCODERS = {
    "efficientnet_lite0": EfficientNetLite0,
    "efficientnet_lite2": EfficientNetLite2,
    "small_conv": SmallConv,
    "vit": PatchTransformer,
    "applications": Applications,
    "keras_hub": KerasHub,
}
ENCODER = "picture encoder"
