"""Everything that `fit` wants of a data folder: tokenizer, batches, features."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import tensorflow as tf

from keras_attn.text.tokenizer import Tokenizer
from pipelines.batches import CaptionBatches
from pipelines.features import cached_features
from pipelines.picture_check import naming_pictures
from pipelines.recipe import TARGET_TOKENIZER, TrainingData
from pipelines.records import CaptionedPicture, data_folder
from pipelines.user_cache import user_cache

if TYPE_CHECKING:
    from pipelines.picture_recipe import PictureRecipe


@dataclass(frozen=True)
class CaptionData(TrainingData):
    """Everything that `fit` wants of a data folder.

    Attributes:
        folder: path of the data folder.
        tokenizer: `Tokenizer`, learned from the training captions.
        batches: `CaptionBatches`.
        splits: dict of lists of records.
        skipped: list of `Skipped`.
        features: dict from split to an array (pictures, S, D), or to None where training changes
            pictures and so reads these; None where pictures are read of every split. Where the
            encoder is to train from a later step, both are: see `thawed`.
        dev: validation data set.
        steps: batches in one epoch of `train`: the `steps_per_epoch` of `fit`.
    """

    folder: Path
    tokenizer: Tokenizer
    batches: CaptionBatches
    splits: dict[str, list[CaptionedPicture]]
    skipped: list
    features: dict | None
    dev: tf.data.Dataset
    steps: int

    @classmethod
    def load(
        cls, recipe: "PictureRecipe", folder, cache=None, tokenizer=None, encoder=None
    ) -> "CaptionData":
        """Reads a folder, learns the tokenizer and makes the data sets.

        Args:
            recipe: `PictureRecipe`.
            folder: path of the data.
            cache: path of the feature cache; beside the data's name in the user's cache if None.
                Used as long as the recipe does not train its encoder; for dev alone where it
                changes the pictures of training.
            tokenizer: `Tokenizer`, to take one that exists instead of learning it.
            encoder: layer whose features are cached; the recipe's if None.

        Raises:
            ValueError: as `PictureRecipe.read`; the encoder would begin to train after the last
                step.
        """
        splits, skipped = recipe.read(folder)
        tokenizer = recipe.tokenizer(splits["train"]) if tokenizer is None else tokenizer
        batches = recipe.batches(tokenizer)
        steps = batches.steps(splits["train"])
        if recipe.fine_tune_from >= steps * recipe.epochs:
            raise ValueError(
                f"Expected fine_tune_from < {steps * recipe.epochs}, the steps of the whole "
                f"training. Received: fine_tune_from={recipe.fine_tune_from}"
            )
        features = None
        if not recipe.fine_tune or recipe.fine_tune_from:
            encoder = recipe.encoder() if encoder is None else encoder
            cache = cache or user_cache() / "features"
            features = _features(recipe, splits, encoder, cache)
        of = features or {"train": None, "dev": None}
        dev = batches.dataset(splits["dev"], of["dev"])
        folder = data_folder(folder)
        return cls(folder, tokenizer, batches, splits, skipped, features, dev, steps)

    @property
    def train(self) -> tf.data.Dataset:
        """Training data set, shuffled anew in each epoch and without end."""
        return self.training(0)

    @property
    def tokenizers(self) -> dict[str, Tokenizer]:
        """See `TrainingData`."""
        return {TARGET_TOKENIZER: self.tokenizer}

    def report(self) -> list[str]:
        """See `TrainingData`."""
        cut, longest = self.batches.longer(self.splits["train"]), self.batches.lengths[-1]
        found = [f"{cut} training captions are longer than {longest} pieces: cut"] if cut else []
        if self.batches.augmentation and self.features and self.features["train"] is not None:
            found.append("until the encoder trains, pictures are seen as they are, by the cache")
        return found

    def naming_faults(self):
        """See `TrainingData`."""
        paths = [one.path for records in self.splits.values() for one in records]
        return naming_pictures(paths, self.folder)

    def frozen(self) -> bool:
        """Whether features of a resting encoder are read."""
        return self.features is not None

    def thawed(self) -> "CaptionData":
        """The same data as pictures, for an encoder that trains."""
        return replace(self, features=None, dev=self.batches.dataset(self.splits["dev"]))

    def training(self, start):
        """`train` from step `start` on, for a training that was stopped there."""
        of = self.features["train"] if self.features else None
        return self.batches.training(self.splits["train"], of, start)


def _features(recipe, splits, encoder, cache):
    """Cached features of the pictures that are trained and validated on, as they are read."""
    trainable, encoder.trainable = encoder.trainable, False
    if not encoder.built:
        encoder.build((None, recipe.image_size, recipe.image_size, 3))
    read = recipe.augmentation() and not recipe.fine_tune
    features = {
        name: cached_features(splits[name], encoder, recipe.picture_format(), cache)
        for name in (("dev",) if read else ("train", "dev"))
    }
    encoder.trainable = trainable
    return {"train": None, **features}
