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
from keras_attn.text.label_table import LabelTable
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from keras_attn.training.token_accuracy import TokenAccuracy
from pipelines.choices import check_heads, monitors_of
from pipelines.class_batches import ClassBatches
from pipelines.class_callbacks import rollout_pictures
from pipelines.class_data import ClassData, in_words
from pipelines.class_evaluation import TOP, ClassEvaluation
from pipelines.picture_choices import PictureChoices
from pipelines.readers.record import AUTO
from pipelines.recipe import LABEL_TABLE, option
from pipelines.records import read_labels, split_labeled

ACCURACY = "accuracy"


@dataclass(frozen=True, kw_only=True)
class ClassificationRecipe(PictureChoices):
    """A Vision Transformer from labeled pictures. Subclass it to change parts.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind = "classification"
    vocabularies = {LABEL_TABLE: LabelTable}
    judged = TOP
    monitors = monitors_of((), ACCURACY)
    settled: ClassVar = (
        "image_size",
        "fit",
        "patch_size",
        "layers",
        "model_units",
        "hidden_units",
        "heads",
        "pretrained",
    )

    labels_file: str = option(AUTO, "file of labels; auto takes the one there is, or class folders")
    label_column: str = option(AUTO, "column or key with the label")
    batch_size: int = option(32, "pictures in a batch, over all devices")
    pretrained: str = option(
        "", "checkpoint to begin with, a path or a hub name, whose sizes are the model's then"
    )
    patch_size: int = option(16, "pixels of a patch's side")
    layers: int = option(12, "blocks")
    model_units: int = option(192, "width of the model")
    hidden_units: int = option(768, "width of the feed-forward layers")
    heads: int = option(3, "attention heads")
    clip_norm: float = option(1.0, "largest norm of the global gradient")
    monitor: str = option("val_accuracy", "metric that picks the best epoch")

    def __post_init__(self):
        super().__post_init__()
        if not self.pretrained:
            check_heads(self.model_units, self.heads)
            _check_patches(self.image_size, self.patch_size)

    def config(self):
        """`VisionTransformerConfig` of a model that begins with random weights."""
        return VisionTransformerConfig(
            image_size=(self.image_size, self.image_size),
            patch_size=self.patch_size,
            layers=self.layers,
            model_units=self.model_units,
            hidden_units=self.hidden_units,
            heads=self.heads,
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

    def compile(self, model, steps: int, **options) -> None:
        """See `Recipe`."""
        model.compile(
            optimizer=self.optimizer(model, steps),
            loss=TokenCrossEntropy(self.label_smoothing),
            weighted_metrics=[TokenAccuracy(ACCURACY)],
            **options,
        )

    def optimizer(self, model, steps):
        """See `Recipe`."""
        return ClippedAdam(self.rates(steps), self.clip_norm)

    def thaw_step(self):
        """See `Recipe`: everything trains from the start."""
        return 0

    def found(self, data):
        """See `PictureChoices`."""
        columns = (self.labels_file, self.image_column, self.label_column, self.image_folder)
        found = read_labels(data, *columns)
        if self.labels_file == AUTO:
            print(f"labels: {found.source} ({found.form})")
        found.check(self.tolerance)
        return found

    def split(self, data, found):
        """See `PictureChoices`."""
        return split_labeled(data, found, self.dev_share, self.test_share)

    def load(self, data, cache=None, source=None, replicas=1):
        """See `Recipe`; there is nothing to cache."""
        return ClassData.load(self, data, source.tokenizers[LABEL_TABLE] if source else None)

    def batches(self, labels):
        """`ClassBatches` with the recipe's shapes."""
        size, changes = self.batch_size, self.augmentation()
        return ClassBatches(labels, self.picture_format(), size, changes, self.seed)

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        return {LABEL_TABLE: model.classes}

    def service(self, model, tokenizers, beam_width=None, n_best=1):
        """See `Recipe`."""
        if beam_width is not None:
            raise ValueError(
                "Expected no beam width for a classifier, which does not search. "
                f"Received: beam_width={beam_width}"
            )
        return ClassifierService(model, tokenizers[LABEL_TABLE], self.picture_format(), n_best)

    def scoring(self, model, data):
        """See `Recipe`: answers are what `fit` measures on dev."""
        return []

    def pictures(self, model, data, log):
        """See `Recipe`."""
        service = self.service(model, data.tokenizers)
        return [rollout_pictures(service, data.splits["dev"], log)]

    def evaluation(self, records, answers, tokenizers, metadata, **facts):
        """See `Recipe`."""
        return ClassEvaluation.of(records, answers, tokenizers[LABEL_TABLE], **facts)

    def found_by(self, service):
        """See `Recipe`."""
        labels = service.labels.vocabulary_size
        return f"The most probable of {labels} labels, {service.n_best} for each picture."

    def card(self, service):
        """See `Recipe`."""
        config, pictures = service.model.encoder.config, service.picture_format
        return {
            "What it does": "Tells which of its labels a picture has: a Vision Transformer of "
            f"{config.layers} blocks, width {config.model_units}, patches of "
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
