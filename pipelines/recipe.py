"""What every recipe has: choices, and what training, evaluation and export ask it for."""

import abc
import contextlib
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import keras
import tensorflow as tf

from keras_attn.training.schedules import InverseSquareRoot, warmup_cosine
from pipelines.choices import check_choices
from pipelines.evaluation import Evaluation
from pipelines.vocabulary import Vocabulary

COSINE, INVERSE_SQUARE_ROOT = "cosine", "inverse_square_root"
SCHEDULES = (COSINE, INVERSE_SQUARE_ROOT)
TARGET_TOKENIZER, SOURCE_TOKENIZER, TAG_TABLE = "tokenizer", "source_tokenizer", "tags"
LABEL_TABLE = "labels"
"""Names of vocabularies, and of the folders they are in."""


def option(default, text):
    """A field of a recipe with its line of help; the command line makes a flag of it."""
    return field(default=default, metadata={"help": text})


def picture_log(folder: Path) -> Path:
    """TensorBoard's folder for pictures, in a run directory."""
    return folder / "tensorboard" / "attention"


class TrainingData(abc.ABC):
    """Abstract: everything that `fit` wants of a data folder.

    Attributes:
        splits: dict of the records of each split, "train" and "dev" at least.
        skipped: sequence of `Skipped`.
        tokenizers: dict from name to `Vocabulary`.
        dev: validation data set.
        steps: batches in one epoch of `training`: the `steps_per_epoch` of `fit`.
    """

    splits: Mapping[str, Sized]
    skipped: Sequence
    dev: tf.data.Dataset
    steps: int

    @property
    @abc.abstractmethod
    def tokenizers(self) -> Mapping[str, Vocabulary]:
        """See the class."""

    @abc.abstractmethod
    def training(self, start: int) -> tf.data.Dataset:
        """Training data set from step `start` on, shuffled anew in each epoch and without end; a
        batch is a function of the seed and of its step alone."""

    @abc.abstractmethod
    def report(self) -> list[str]:
        """Lines that say what was read, beside counts and tokenizers."""

    @abc.abstractmethod
    def frozen(self) -> bool:
        """Whether part of the model still rests and its output is read instead."""

    @abc.abstractmethod
    def thawed(self) -> "TrainingData":
        """The same data for a model all of which trains."""

    @abc.abstractmethod
    def naming_faults(self) -> contextlib.AbstractContextManager:
        """Inside, errors while data are read name the records that they come from."""


@dataclass(frozen=True, kw_only=True)
class Recipe(abc.ABC):
    """Abstract: the choices of an experiment, and data, model and optimizer made from them.

    Raises:
        ValueError: a choice out of its range, when the recipe is made.
    """

    kind: ClassVar[str]
    """Of the recipe, as run directories and SavedModels have it."""
    unit: ClassVar[str]
    """What its records are, in the plural."""
    monitors: ClassVar[Sequence[str]]
    """Metrics that may pick the best epoch."""
    chosen: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Known values of choices that are names."""
    goes_on: ClassVar[bool] = False
    """Whether training begins with the weights of another."""
    vocabularies: ClassVar[Mapping[str, type[Vocabulary]]]
    """Kinds of the vocabularies that a model cannot be without, by their names."""
    judged: ClassVar[int] = 1
    """Most answers to a record, best first, that an evaluation looks at."""
    settled: ClassVar[Sequence[str]]
    """Choices that trained weights and tokenizers have settled."""

    tolerance: float = option(0.01, "share of unusable records above which training does not start")
    dev_share: float = option(0.1, "share of records for dev where no split files exist")
    test_share: float = option(0.1, "share of records for test where no split files exist")
    dropout: float = option(0.3, "dropout probability")
    epochs: int = option(10, "passes over the training records")
    learning_rate: float = option(1e-3, "peak learning rate")
    warmup_steps: int = option(200, "optimizer steps of warm-up")
    schedule: str = option(COSINE, "after the warm-up: cosine, or inverse_square_root")
    average: int = option(1, "last epochs whose mean weights are tried at the end; 1: none")
    label_smoothing: float = option(0.1, "probability spread over all answers")
    clip_norm: float = option(5.0, "largest norm of the global gradient")
    monitor: str = option("val_loss", "metric that picks the best epoch")
    patience: int = option(3, "epochs without a better metric before training stops")
    seed: int = option(0, "seed of weights, dropout and shuffling")

    def __post_init__(self):
        known = {"monitor": self.monitors, "schedule": SCHEDULES, **self.chosen}
        check_choices(self.values(), known)
        if self.average > 1 and not self.monitor.startswith("val_"):
            raise ValueError(
                "Expected a monitor on dev with average > 1. "
                f"Received: monitor={self.monitor!r}, average={self.average}"
            )

    def values(self) -> dict[str, Any]:
        """The choices as a dict that JSON can hold."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def rates(self, steps: int):
        """The learning rate's schedule for a training of `steps` steps."""
        if self.schedule == INVERSE_SQUARE_ROOT:
            return InverseSquareRoot(self.learning_rate, max(self.warmup_steps, 1))
        return warmup_cosine(self.learning_rate, min(self.warmup_steps, steps // 3), steps)

    @abc.abstractmethod
    def compile(self, model, steps: int, **options) -> None:
        """Compiles a model with the recipe's optimizer, loss and metrics.

        Args:
            model: of `stage`.
            steps: int. Of the whole training.
            **options: of `keras.Model.compile`.
        """

    def stage(self, model, data: TrainingData, steps: int) -> keras.Model:
        """What is compiled and fitted: the model, or a `TrainingStage` of it.

        Args:
            model: of `model`.
            data: `TrainingData`.
            steps: int. Of the whole training.
        """
        return model

    @abc.abstractmethod
    def load(self, data, cache=None, source=None, replicas: int = 1) -> TrainingData:
        """Reads data, learns vocabularies and makes the data sets.

        Args:
            data: path of the data folder.
            cache: path of a cache; the user's cache folder if None.
            source: `WarmStart` whose vocabularies are taken, or None.
            replicas: int. Batches can be divided by it.

        Raises:
            ValueError: bad data.
        """

    @abc.abstractmethod
    def model(self, *vocabulary_sizes: int):
        """A built model for vocabularies of such sizes, in the order of `vocabulary_sizes`."""

    @abc.abstractmethod
    def optimizer(self, model, steps: int):
        """The optimizer for a training of `steps` steps of a model of `model`."""

    @abc.abstractmethod
    def thaw_step(self) -> int:
        """The step from which all of the model trains."""

    @abc.abstractmethod
    def vocabulary_sizes(self, model) -> dict[str, int]:
        """dict from the name of each vocabulary to the size that a model wants of it."""

    @abc.abstractmethod
    def service(self, model, tokenizers: Mapping[str, Any], beam_width=None, n_best=1) -> Any:
        """The model as a service.

        Args:
            model: of `model`.
            tokenizers: vocabularies by their names.
            beam_width: int, or None for the recipe's.
            n_best: int. Most answers to one request.

        Raises:
            ValueError: a beam width for a model that does not search.
        """

    @abc.abstractmethod
    def scoring(self, model, data) -> list[keras.callbacks.Callback]:
        """Callbacks that add metrics of free-running answers to the logs of an epoch."""

    @abc.abstractmethod
    def pictures(self, model, data, folder: Path) -> list[keras.callbacks.Callback]:
        """Callbacks that show something of each epoch: in the run directory `folder`, or in
        TensorBoard (see `picture_log`)."""

    @abc.abstractmethod
    def records(self, data, split: str) -> Sequence:
        """The records of one split: "train", "dev", "test" or one of the data's own.

        Raises:
            ValueError: no such split, or an empty one.
        """

    @abc.abstractmethod
    def asked(self, record) -> tuple[str, bytes]:
        """What a record is called in messages, and what the service is asked about it."""

    def size(self, record) -> int:
        """How long what is asked about a record is; those of like size are answered together."""
        return 0

    @abc.abstractmethod
    def evaluation(
        self,
        records: Sequence,
        answers: list[dict],
        tokenizers: Mapping[str, Any],
        metadata: Mapping[str, Any],
        **facts,
    ) -> Evaluation:
        """The `Evaluation` of a service's answers, a dict of arrays each; `tokenizers` and
        `metadata` are the service's, `facts` other fields."""

    @abc.abstractmethod
    def found_by(self, service) -> str:
        """A sentence of the model card: how the service finds its answers."""

    @abc.abstractmethod
    def card(self, service) -> dict[str, str]:
        """Words of the model card: "What it does", "Service" and "License"."""
