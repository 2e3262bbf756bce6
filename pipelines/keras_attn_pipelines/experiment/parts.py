"""Protocols of an experiment's source, task, model and optimizer.

A part inherits nothing but must have every member named here. The package's own modules of parts
import neither Keras nor TensorFlow at their top, so that flags can be listed and checked without
loading them; methods import what they need. A recipe file of one's own may import both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol

from keras_attn.contracts import LOGITS, SOURCE
from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.training_data import Records, TrainingData
from keras_attn_pipelines.data.vocabulary import Vocabulary
from keras_attn_pipelines.experiment.evaluation import Evaluation


class Source(Protocol):
    """Where records come from.

    A part may also have `find(data)`, which raises `read`'s ValueError for files that are not there
    or lack a column. It reads no more than their beginnings, and runs before TensorFlow is loaded.
    With `record_type()`, which returns the dataclass of its records, they can be prepared in
    shards; see `RecordFeatures` for what their fields may be.

    Attributes:
        unit: plural noun for the records, such as "pictures".
        records: kind of records; the task's `spec.records` must match.
    """

    unit: ClassVar[str]
    records: ClassVar[str]

    def read(self, data: str) -> Records:
        """Reads all records for training from a data folder, a file or a named data set.

        Raises:
            ValueError: bad data, or too many unusable records.
        """

    def split(self, data: str, name: str) -> Sequence[Any]:
        """The records of one split, for evaluation.

        Raises:
            ValueError: no such split, or an empty one.
        """


class Objective(NamedTuple):
    """What `keras.Model.compile` is given, and the model to compile.

    Attributes:
        model: Keras model to fit: the built model, or a `TrainingStage` of it.
        loss: as `keras.Model.compile` takes it.
        metrics: weighted metrics, as `keras.Model.compile` takes them.
    """

    model: Any
    loss: Any
    metrics: Any


class Callbacks(NamedTuple):
    """Callbacks that a task adds to `fit`.

    With several workers the chief runs all of them; those whose attribute `changes_model` is True
    run on every worker, with the chief's logs of each epoch, and one that says neither True nor
    False is refused.

    Attributes:
        scoring: callbacks that add metrics of free-running answers to the logs of an epoch.
        pictures: callbacks that follow the best epoch's choice, such as those that draw.
        notes: how metrics are computed, texts that `history.csv` repeats by the column's name.
    """

    scoring: Sequence[Any] = ()
    pictures: Sequence[Any] = ()
    notes: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Setting:
    """Context in which a task encodes records.

    Attributes:
        model: the experiment's model part.
        fit: the experiment's `Fit`.
        cache: folder for cached features; the user's cache folder if None.
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
    """Static description of a task.

    Attributes:
        records: kind of records it takes; the source's `records` must match.
        targets: names of the model's outputs that have targets.
        accuracy: name of the metric that `fit` measures.
        monitors: metrics of free-running answers; prefixed with `val_`, each can select the best
            epoch, as can the loss and the accuracy.
        best_possible: the best possible values of the metrics for which it is not 1. A metric whose
            best possible value is 0, such as an error, is the better the smaller it is.
        batches_of_tokens: whether `Fit.batch_tokens` can size the batches.
        judged: maximum number of answers per record, best first, that an evaluation uses.
        searches: whether answers are searched for, so that a beam width can be given.
        from_few: how to train from few records, in a report; '' for nothing to say.
    """

    records: str
    targets: tuple[str, ...] = (LOGITS,)
    accuracy: str = "token_accuracy"
    monitors: tuple[str, ...] = ()
    best_possible: Mapping[str, float] = field(default_factory=dict)
    batches_of_tokens: bool = False
    judged: int = 1
    searches: bool = False
    from_few: str = ""


class Request(NamedTuple):
    """A service's request for one record.

    Attributes:
        name: name of the record in messages.
        inputs: bytes, or an array of bytes, by the name of each input of `serving_default`.
        size: length of the request; requests of similar size are batched together.
    """

    name: str
    inputs: Mapping[str, Any]
    size: int = 0

    @classmethod
    def of_text(cls, text: str) -> "Request":
        """The request of a service whose input is a text, SOURCE."""
        return cls(f"{text!r:.80}", {SOURCE: text.encode()}, len(text))


class Built(NamedTuple):
    """A built Keras model.

    Attributes:
        model: Keras model.
        description: the model in a few words, for the model card.
        slow_layers: names of the layers whose learning rate `Adam.slow_rate` scales.
        small_steps: whether a training step is so small that XLA pays on a CPU too: many operations
            on few numbers, in float32.
    """

    model: Any
    description: str
    slow_layers: Sequence[str] = ()
    small_steps: bool = False


class Task(Protocol):
    """Settings of a task, cheap to import; what it does is in its `Work`."""

    spec: ClassVar[TaskSpec]

    def features(self) -> Mapping[str, Feature]:
        """The declared shape and type of each input feature of one example."""

    def work(self) -> "Work":
        """The task at work, whose module imports Keras and TensorFlow.

        A task whose own module imports them may have the members of `Work` itself, and return
        itself.
        """


class Work(Protocol):
    """Turns records into features and answers into scores.

    It may also have `extend(vocabularies, records)`, which returns the vocabularies of a model
    that training starts from (`--from`), with what training records add to them; what they had
    keeps its ids. It may have `resolve_auto(records)`, which returns the task with each "auto"
    replaced by the value that the dev records call for; the run stores it and resumes with it. Its
    `metric_names` are the field's names of its metrics, by their keys.
    """

    def vocabulary_types(self) -> Mapping[str, type[Vocabulary]]:
        """The classes of the vocabularies by name."""

    def learn(self, records: Sequence[Any]) -> Mapping[str, Vocabulary]:
        """Vocabularies learned from training records, by name."""

    def encode(
        self, records: Records, vocabularies: Mapping[str, Any], setting: Setting
    ) -> TrainingData:
        """Named features of the records, as data sets.

        Raises:
            ValueError: records that the vocabularies do not cover, or no usable ones.
        """

    def objective(self, model: Any, data: TrainingData, steps: int, seed: int) -> Objective:
        """Model, loss and metrics to compile for `steps` training steps."""

    def callbacks(
        self, model: Any, data: TrainingData, setting: Setting, folder: Path
    ) -> Callbacks:
        """Callbacks for training; pictures are written into the run directory `folder`."""

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
            vocabularies: vocabularies by name.
            part: the experiment's model part.
            beam_width: beam width, or None for the task's own; None unless the task searches.
            n_best: maximum number of answers per request.

        """

    def request(self, record: Any) -> Request:
        """The service's request for a record."""

    def evaluation(
        self,
        records: Sequence[Any],
        answers: Sequence[Mapping[str, Any]],
        vocabularies: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> Evaluation:
        """Scores a service's answers, one dict of arrays per record.

        Args:
            records: records of one split.
            answers: their answers, in the same order.
            vocabularies: the service's.
            metadata: the service's.
        """

    def card(self, service: Any, description: str) -> dict[str, str]:
        """Sections of the model card: "What it does"; optionally "Service", "Search", "License".

        Without "License", the weights are said to be subject to the terms of their data.

        Args:
            service: what `service` returned.
            description: what the model is and how large, such as the `Built.description`.
        """


class Model(Protocol):
    """The architecture: sizes, and the Keras model made from them.

    A part may also have `check_features(features)`, which raises ValueError if its sizes do not
    match the shapes of the task's features; it is called before any data is read. With
    `grow(model, start)` a built model takes over the weights of a smaller one that training starts
    from (`--from`); without it, both must have the same weights.

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
            features: the task's features.
            vocabulary_sizes: size of each vocabulary by name.
            seed: seed of the initial weights.
        """


class Optimizer(Protocol):
    """How weights are updated.

    A part may also have `notes(steps)`, lines that training prints about its settings.
    """

    @property
    def average(self) -> int:
        """Number of last epochs whose averaged weights are tried at the end; 1: none."""

    def build(self, steps: int, slow_layers: Sequence[str], slow_from: int) -> Any:
        """The Keras optimizer for `steps` training steps.

        Args:
            steps: total training steps.
            slow_layers: names of layers with a lower learning rate.
            slow_from: first step at which they train; until then they are frozen.
        """
