"""The recipe for classifiers: what can be chosen, and data, model and optimizer made from it."""

from dataclasses import dataclass
from datetime import date
from typing import ClassVar

import keras

from keras_attn.models.image_classifier import ImageClassifier
from keras_attn.models.vision_transformer import VisionTransformer
from keras_attn.models.vision_transformer_checkpoint import load_image_classifier
from keras_attn.models.vision_transformer_config import VisionTransformerConfig
from keras_attn.serving.classifier_service import ClassifierService
from pipelines.choices import check_heads
from pipelines.class_callbacks import rollout_pictures
from pipelines.labeled_pictures import LabeledPictures
from pipelines.labeling import check_no_beam, in_words
from pipelines.recipe import LABEL_TABLE, option, picture_log


@dataclass(frozen=True, kw_only=True)
class ClassificationRecipe(LabeledPictures):
    """A Vision Transformer from labeled pictures. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "classification"
    settled: ClassVar = (
        "image_size",
        "fit",
        "patch_size",
        "num_layers",
        "hidden_dim",
        "intermediate_dim",
        "num_heads",
        "pretrained",
    )

    pretrained: str = option(
        "", "checkpoint to begin with, a path or a hub name, whose sizes are the model's then"
    )
    patch_size: int = option(16, "pixels of a patch's side")
    num_layers: int = option(12, "blocks")
    hidden_dim: int = option(192, "width of the model")
    intermediate_dim: int = option(768, "width of the feed-forward layers")
    num_heads: int = option(3, "attention heads")

    def __post_init__(self):
        super().__post_init__()
        if not self.pretrained:
            check_heads(self.hidden_dim, self.num_heads)
            _check_patches(self.image_size, self.patch_size)

    def config(self):
        """`VisionTransformerConfig` of a model that begins with random weights."""
        return VisionTransformerConfig(
            image_size=(self.image_size, self.image_size),
            patch_size=self.patch_size,
            num_layers=self.num_layers,
            hidden_dim=self.hidden_dim,
            intermediate_dim=self.intermediate_dim,
            num_heads=self.num_heads,
            dropout=self.dropout,
        )

    def model(self, classes):
        """A built `ImageClassifier`."""
        keras.utils.set_random_seed(self.seed)
        if self.pretrained:
            model = load_image_classifier(self.pretrained, classes, dropout=self.dropout)
            _check_patches(self.image_size, model.encoder.config.patch_size)
            return model
        model = ImageClassifier(VisionTransformer(self.config()), classes, name="classifier")
        model.build((None, self.image_size, self.image_size, 3))
        return model

    def service(self, model, tokenizers, beam_width=None, n_best=1):
        """See `Recipe`."""
        check_no_beam(beam_width)
        return ClassifierService(model, tokenizers[LABEL_TABLE], self.picture_format(), n_best)

    def pictures(self, model, data, folder):
        """See `Recipe`."""
        service = self.service(model, data.tokenizers)
        return [rollout_pictures(service, data.splits["dev"], picture_log(folder))]

    def card(self, service):
        """See `Recipe`."""
        config, pictures = service.model.encoder.config, service.picture_format
        return {
            "What it does": "Tells which of its labels a picture has: a Vision Transformer of "
            f"{config.num_layers} blocks, width {config.hidden_dim}, patches of "
            f"{config.patch_size}×{config.patch_size} pixels, "
            f"{service.model.count_params():,} parameters, exported {date.today().isoformat()}. "
            f"Labels: {in_words(service.labels.labels)}.",
            "Service": "Signature `serving_default`: image (encoded bytes) to labels, scores "
            "(probabilities), error. `explain`: also weights (how much of each patch is in the "
            "picture's vector, by attention rollout). `attention`: also the weights of every "
            f"block and head. Pictures are fitted to {pictures.height}×{pictures.width} by "
            f"{pictures.fit}.",
            "License": "Code: Apache-2.0. The weights carry the terms of the data they were "
            "trained on, and of the checkpoint they began with where there is one.",
        }


def _check_patches(image_size, patch_size):
    """Raises ValueError unless patches fill a picture."""
    if image_size % patch_size:
        raise ValueError(
            f"Expected image_size that patch_size={patch_size} divides. "
            f"Received: image_size={image_size}"
        )
