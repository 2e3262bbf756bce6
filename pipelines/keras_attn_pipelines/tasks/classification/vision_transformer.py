"""A Vision Transformer as an image classifier."""

from typing import ClassVar

from keras_attn.contracts import IMAGE, LOGITS
from keras_attn_pipelines.data.vocabulary import LABELS
from keras_attn_pipelines.experiment.fields import check_heads, option, part
from keras_attn_pipelines.experiment.parts import Built
from keras_attn_pipelines.experiment.picture_encoders import FROM_SCRATCH
from keras_attn_pipelines.experiment.picture_options import CHECKPOINT, PREPROCESSING


@part
class VisionTransformer:
    """A Vision Transformer, from scratch or pretrained, with a head for the labels."""

    reads: ClassVar[tuple[str, ...]] = (IMAGE,)
    answers: ClassVar[tuple[str, ...]] = (LOGITS,)

    pretrained: str = option(
        "pretrained checkpoint, a path or a hub name; its sizes become the model's",
        default="",
        settled=True,
    )
    preprocessing: str = option(
        "with pretrained: require the flags to resize pictures as the checkpoint wants them, or "
        "take the flags as they are",
        default=CHECKPOINT,
        needs={"pretrained": True},
        choices=PREPROCESSING,
    )
    patch_size: int = option(
        "patch size in pixels", default=16, settled=True, needs=FROM_SCRATCH, least=1
    )
    num_layers: int = option(
        "number of blocks", default=12, settled=True, needs=FROM_SCRATCH, least=1
    )
    hidden_dim: int = option(
        "width of the model", default=192, settled=True, needs=FROM_SCRATCH, least=1
    )
    intermediate_dim: int = option(
        "width of the feed-forward layers",
        default=768,
        settled=True,
        needs=FROM_SCRATCH,
        least=1,
    )
    num_heads: int = option("attention heads", default=3, settled=True, needs=FROM_SCRATCH, least=1)
    dropout: float = option("dropout probability", default=0.3, least=0, below=1)

    def check(self):
        """Raises ValueError unless the heads divide the width."""
        if not self.pretrained:
            check_heads(self.hidden_dim, self.num_heads)

    def check_features(self, features):
        """See `Model`: patches must tile a picture."""
        if not self.pretrained:
            _check_patches(features[IMAGE].shape[0], self.patch_size)

    def check_pictures(self, pictures):
        """Raises ValueError for `PictureOptions` other than a checkpoint's own preprocessing."""
        if self.pretrained and self.preprocessing == CHECKPOINT:
            pictures.check_checkpoint(self.pretrained)

    def build(self, features, vocabulary_sizes, seed):
        """See `Model`."""
        import keras

        from keras_attn.models.vision_transformer.image_classifier import ImageClassifier
        from keras_attn.models.vision_transformer.vision_transformer import VisionTransformer
        from keras_attn.models.vision_transformer.vision_transformer_config import (
            VisionTransformerConfig,
        )
        from keras_attn.pretrained.vision_transformer import load_image_classifier

        keras.utils.set_random_seed(seed)
        height, width, _ = features[IMAGE].shape
        classes = vocabulary_sizes[LABELS]
        if self.pretrained:
            model = load_image_classifier(self.pretrained, classes, dropout=self.dropout)
            _check_patches(height, model.encoder.config.patch_size)
            return Built(model, _description(model.encoder.config))
        config = VisionTransformerConfig(
            image_size=(height, width),
            patch_size=self.patch_size,
            num_layers=self.num_layers,
            hidden_dim=self.hidden_dim,
            intermediate_dim=self.intermediate_dim,
            num_heads=self.num_heads,
            dropout=self.dropout,
        )
        model = ImageClassifier(VisionTransformer(config), classes, name="classifier")
        model.build((None, height, width, 3))
        return Built(model, _description(config))

    def serve(self, model, labels, picture_format, n_best):
        """See `ClassifierModel`."""
        from keras_attn.serving import LabelService, classifier_functions, readers, views, writers

        return LabelService(
            model,
            readers.PictureReader(picture_format),
            writers.LabelWriter(labels, n_best),
            classifier_functions.picture_functions(model),
            {LABELS: labels},
            views.PATCH_VIEWS,
        )


def _description(config) -> str:
    """A Vision Transformer in a few words."""
    return (
        f"a Vision Transformer of {config.num_layers} blocks, width {config.hidden_dim}, patches "
        f"of {config.patch_size}×{config.patch_size} pixels"
    )


def _check_patches(image_size, patch_size):
    """Raises ValueError unless patches must tile a picture."""
    if image_size % patch_size:
        raise ValueError(
            f"Expected image_size divisible by patch_size={patch_size}. "
            f"Received: image_size={image_size}"
        )
