"""What an experiment asks of its source, its task and its model.

These are protocols: a part inherits nothing, and has every member named here. Modules that define
parts import neither Keras nor TensorFlow at their top, so that flags are known and checked at once;
methods import what they need.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.training_data import Records, TrainingData
from keras_attn_pipelines.data.vocabulary import Vocabulary
from keras_attn_pipelines.experiment.evaluation import Evaluation


class Source(Protocol):
    """Where records come from.

    Attributes:
        unit: what the records are, in the plural.
        records: what kind of records they are; the task names the same kind.
    """

    unit: ClassVar[str]
    records: ClassVar[str]

    def read(self, data: str) -> Records:
        """Everything that training wants of a data folder, a file or a named data set.

        Raises:
            ValueError: bad data, or too many unusable records.
        """

    def split(self, data: str, name: str) -> Sequence[Any]:
        """The records of one split, for evaluation.

        Raises:
            ValueError: no such split, or an empty one.
        """


class Objective(NamedTuple):
    """What is compiled.

    Attributes:
        model: Keras model to fit: the built model, or a `TrainingStage` of it.
        loss: as `keras.Model.compile` takes it.
        metrics: weighted metrics, as `keras.Model.compile` takes them.
    """

    model: Any
    loss: Any
    metrics: Any


class Callbacks(NamedTuple):
    """What a task adds to `fit`.

    Attributes:
        scoring: callbacks that add metrics of free-running answers to the logs of an epoch.
        pictures: callbacks that draw something after each epoch.
    """

    scoring: Sequence[Any] = ()
    pictures: Sequence[Any] = ()


@dataclass(frozen=True)
class Setting:
    """What a task may know of the experiment around it while it makes features.

    Attributes:
        model: the experiment's model part.
        fit: the experiment's `Fit`.
        cache: folder for what is computed once; the user's cache folder if None.
        replicas: devices that share a batch; batch sizes are multiples of it.
        start: built Keras model that training starts from, or None.
    """

    model: Any
    fit: Any
    cache: Path | None = None
    replicas: int = 1
    start: Any = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """What a task is, beside what it does.

    Attributes:
        records: what kind of records it takes; the source names the same kind.
        targets: names of the model's outputs that have targets.
        accuracy: name of the accuracy that `fit` measures.
        monitors: metrics of free-running answers, by any of which, with `val_` before it, the best
            epoch can be picked, as by the loss and the accuracy.
        batches_of_tokens: whether `Fit.batch_tokens` can size the batches.
        judged: most answers to a record, best first, that an evaluation looks at.
    """

    records: str
    targets: tuple[str, ...] = ("logits",)
    accuracy: str = "token_accuracy"
    monitors: tuple[str, ...] = ()
    batches_of_tokens: bool = False
    judged: int = 1


class Request(NamedTuple):
    """What a service is asked about a record.

    Attributes:
        name: of the record, in messages.
        inputs: bytes, or an array of bytes, by the name of each input of `serving_default`.
        size: how long the request is; requests of like size are answered together.
    """

    name: str
    inputs: Mapping[str, Any]
    size: int = 0


class Built(NamedTuple):
    """A built Keras model.

    Attributes:
        model: Keras model.
        description: the model in a few words, for the model card.
        slow_layers: names of the layers that `Adam.slow_rate` slows down.
    """

    model: Any
    description: str
    slow_layers: Sequence[str] = ()


class Task(Protocol):
    """What is to be learned: records to features, answers to scores."""

    spec: ClassVar[TaskSpec]

    def features(self) -> Mapping[str, Feature]:
        """The declared shape and type of each input feature of one example."""

    def vocabulary_types(self) -> Mapping[str, type[Vocabulary]]:
        """The classes of the vocabularies by their names."""

    def learn(self, records: Sequence[Any]) -> Mapping[str, Vocabulary]:
        """Vocabularies learned from training records, by their names."""

    def encode(
        self, records: Records, vocabularies: Mapping[str, Any], setting: Setting
    ) -> TrainingData:
        """Named features of the records, as data sets.

        Raises:
            ValueError: records that the vocabularies do not cover, or no usable ones.
        """

    def objective(self, model: Any, data: TrainingData, steps: int, seed: int) -> Objective:
        """What is compiled for a training of `steps` steps."""

    def callbacks(
        self, model: Any, data: TrainingData, setting: Setting, folder: Path
    ) -> Callbacks:
        """Callbacks for a model in training, and pictures for the run directory `folder`."""

    def service(
        self,
        model: Any,
        vocabularies: Mapping[str, Any],
        part: Any,
        beam_width: int | None = None,
        n_best: int = 1,
    ) -> Any:
        """The model as a service.

        Args:
            model: built Keras model.
            vocabularies: by their names.
            part: the experiment's model part.
            beam_width: or None for the task's own.
            n_best: most answers to one request.

        Raises:
            ValueError: a beam width for a model that does not search.
        """

    def request(self, record: Any) -> Request:
        """What the service is asked about a record."""

    def evaluation(
        self,
        records: Sequence[Any],
        answers: Sequence[Mapping[str, Any]],
        vocabularies: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> Evaluation:
        """The scores of a service's answers, one dict of arrays a record.

        Args:
            records: of one split.
            answers: in the order of the records.
            vocabularies: the service's.
            metadata: the service's.
        """

    def card(self, service: Any, description: str) -> dict[str, str]:
        """Words of the model card: "What it does", and perhaps "Service", "Search" and "License".

        Args:
            service: of `service`.
            description: what the model part says of the model.
        """


class Model(Protocol):
    """The architecture: sizes, and the Keras model made from them.

    A part may also have `check_features(features)`, which raises ValueError where its sizes do not
    fit the shapes of the task's features; it is called before anything is read.

    Attributes:
        reads: names of the features in a batch that the model reads.
        answers: names of its outputs.
    """

    reads: ClassVar[tuple[str, ...]]
    answers: ClassVar[tuple[str, ...]]

    def build(
        self, features: Mapping[str, Feature], vocabulary_sizes: Mapping[str, int], seed: int
    ) -> Built:
        """The model, built.

        Args:
            features: of the task.
            vocabulary_sizes: size of each vocabulary by its name.
            seed: of initial weights.
        """


class Optimizer(Protocol):
    """How weights are updated."""

    @property
    def average(self) -> int:
        """Last epochs whose mean weights are tried at the end; 1: none."""

    def build(self, steps: int, slow_layers: Sequence[str], slow_from: int) -> Any:
        """The Keras optimizer for a training of `steps` steps.

        Args:
            steps: of the whole training.
            slow_layers: names of layers that are to learn more slowly.
            slow_from: step from which they learn; until then they are frozen.
        """
