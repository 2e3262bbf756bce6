"""What recipes have in common whose answers are labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from keras_attn.text.label_table import LabelTable
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.optimizers import ClippedAdam
from keras_attn.training.token_accuracy import TokenAccuracy
from pipelines.choices import monitors_of
from pipelines.class_evaluation import TOP, ClassEvaluation
from pipelines.recipe import LABEL_TABLE, Recipe, option

ACCURACY = "accuracy"
SHOWN = 20
"""Labels that are named."""


@dataclass(frozen=True, kw_only=True)
class LabelingRecipe(Recipe):
    """Abstract: a recipe for a classifier.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    vocabularies = {LABEL_TABLE: LabelTable}
    judged = TOP
    monitors = monitors_of((), ACCURACY)

    batch_size: int = option(32, "pictures in a batch, over all devices")
    clip_norm: float = option(1.0, "largest norm of the global gradient")
    monitor: str = option("val_accuracy", "metric that picks the best epoch")

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

    def vocabulary_sizes(self, model):
        """See `Recipe`."""
        return {LABEL_TABLE: model.num_classes}

    def scoring(self, model, data):
        """See `Recipe`: `fit` measures all there is."""
        return []

    def evaluation(self, records, answers, tokenizers, metadata, **facts):
        """See `Recipe`."""
        return ClassEvaluation.of(records, answers, tokenizers[LABEL_TABLE], **facts)

    def found_by(self, service):
        """See `Recipe`."""
        labels = service.labels.vocabulary_size
        return f"The most probable of {labels} labels, {service.n_best} for each picture."


def check_no_beam(beam_width: int | None) -> None:
    """Raises ValueError for any beam width: a classifier does not search."""
    if beam_width is not None:
        raise ValueError(
            "Expected no beam width for a classifier, which does not search. "
            f"Received: beam_width={beam_width}"
        )


def in_words(labels: Sequence[str]) -> str:
    """The first few labels, and how many more there are."""
    more = len(labels) - SHOWN
    return ", ".join(labels[:SHOWN]) + (f" and {more} more" if more > 0 else "")
