"""An experiment: a source, a task, a model, an optimizer and a fit."""

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from keras_attn_pipelines.experiment.fields import field_types
from keras_attn_pipelines.experiment.fit import Fit
from keras_attn_pipelines.experiment.optimizer import Adam
from keras_attn_pipelines.experiment.parts import Model, Optimizer, Source, Task

PARTS = ("source", "task", "model", "optimizer", "fit")
LOSS = "loss"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A complete training setup; a recipe file sets `RECIPE` to one.

    Attributes:
        source: `Source`.
        task: `Task`.
        model: `Model`.
        optimizer: `Optimizer`, such as `Adam`.
        fit: `Fit`.
        needs_start: whether training requires initial weights (`--from`).

    Raises:
        ValueError: a part with missing members, incompatible parts, or a field shared by two parts.
    """

    source: Source
    task: Task
    model: Model
    optimizer: Optimizer = field(default_factory=Adam)
    fit: Fit = field(default_factory=Fit)
    needs_start: bool = False

    def __post_init__(self):
        _check_parts(self)
        _check_names(self)
        _check_fit(self)

    def values(self) -> dict[str, Any]:
        """The value of each field of each part, by the field's name."""
        return {
            declared.name: getattr(owner, declared.name) for _, owner, declared in self._fields()
        }

    def check_start(self, name: str) -> None:
        """Raises ValueError if the training of a recipe cannot begin with random weights."""
        if self.needs_start:
            raise ValueError(f"Expected initial weights (--from) for {name}. Received: none")

    def replaced(self, values: Mapping[str, Any]) -> "Experiment":
        """A copy with some fields replaced.

        Args:
            values: new values by field name, whichever part has the field.

        Raises:
            ValueError: an unknown field, or a value out of its range.
        """
        if unknown := sorted(set(values) - set(self.values())):
            raise ValueError(f"Expected fields of the recipe. Received: {', '.join(unknown)}")
        parts = {name: _replaced(getattr(self, name), values) for name in PARTS}
        return replace(self, **parts)

    def settled(self) -> dict[str, Any]:
        """Values of the fields that trained weights and vocabularies fix."""
        return {
            declared.name: getattr(owner, declared.name)
            for _, owner, declared in self._fields()
            if declared.metadata["settled"]
        }

    def flags(self) -> Iterator[tuple[str, dataclasses.Field, Any, Any]]:
        """(name of the part, field, type, value) of everything that the command line can set."""
        for name, owner, declared in self._fields():
            yield (
                name,
                declared,
                field_types(type(owner))[declared.name],
                getattr(owner, declared.name),
            )

    def _fields(self):
        for name in PARTS:
            yield from ((name, *field_and_part) for field_and_part in _options(getattr(self, name)))


def _options(owner) -> Iterator[tuple[Any, dataclasses.Field]]:
    """(part, field) of each option of a part and of the parts inside it."""
    for declared in fields(owner):
        if "range" in declared.metadata:
            yield owner, declared
        elif dataclasses.is_dataclass(inner := getattr(owner, declared.name)):
            yield from _options(inner)


def _replaced(owner, values):
    """A copy of a part with some fields replaced, those of nested parts included."""
    changed = {}
    for declared in fields(owner):
        inner = getattr(owner, declared.name)
        if "range" in declared.metadata:
            changed |= {declared.name: values[declared.name]} if declared.name in values else {}
        elif dataclasses.is_dataclass(inner):
            changed[declared.name] = _replaced(inner, values)
    return replace(owner, **changed) if changed else owner


def _check_parts(experiment):
    """Raises ValueError for a part that is not a dataclass or lacks a member of its protocol."""
    protocols = {"source": Source, "task": Task, "model": Model, "optimizer": Optimizer}
    for name, protocol in protocols.items():
        instance = getattr(experiment, name)
        if isinstance(instance, type) or not dataclasses.is_dataclass(instance):
            raise ValueError(
                f"Expected {name} to be an instance of a class with @part. "
                f"Received: {instance!r:.80}"
            )
        members = (*inspect.get_annotations(protocol), *vars(protocol))
        missing = [
            member
            for member in dict.fromkeys(members)
            if not member.startswith("_") and not hasattr(instance, member)
        ]
        if missing:
            raise ValueError(
                f"Expected {name} {type(instance).__name__} to have {', '.join(missing)}, see "
                f"{protocol.__module__}.{protocol.__name__}. Received: a class without them"
            )
    if not isinstance(experiment.fit, Fit):
        raise ValueError(f"Expected fit to be a Fit. Received: {experiment.fit!r:.80}")


def _check_names(experiment):
    """Raises ValueError if two parts share a field name, since each field is a flag."""
    owners: dict[str, str] = {}
    for name, owner, declared in experiment._fields():
        if declared.name in owners:
            raise ValueError(
                f"Expected unique field names across all parts. Received: {declared.name} in "
                f"{owners[declared.name]} and in the {name} {type(owner).__name__}"
            )
        owners[declared.name] = f"the {name} {type(owner).__name__}"


def _check_fit(experiment):
    """Raises ValueError for incompatible parts."""
    task, model, fit = experiment.task, experiment.model, experiment.fit
    source = experiment.source
    if source.records != task.spec.records:
        raise ValueError(
            f"Expected a source of {task.spec.records} for {type(task).__name__}. "
            f"Received: {type(source).__name__}, a source of {source.records}"
        )
    names = f"{type(model).__name__} for {type(task).__name__}"
    if missing := [key for key in task.spec.targets if key not in model.answers]:
        raise ValueError(
            f"Expected a model with outputs {', '.join(task.spec.targets)}. Received: {names}, "
            f"without {', '.join(missing)}"
        )
    if set(model.reads) != set(task.features()):
        raise ValueError(
            f"Expected a model that reads {', '.join(task.features())}. Received: {names}, which "
            f"reads {', '.join(model.reads)}"
        )
    if check := getattr(model, "check_features", None):
        check(task.features())
    fitted = (LOSS, task.spec.accuracy)
    monitors = (*fitted, *(f"val_{name}" for name in (*fitted, *task.spec.monitors)))
    if fit.monitor not in monitors:
        raise ValueError(
            f"Expected monitor to be one of {', '.join(monitors)}. "
            f"Received: monitor={fit.monitor!r}"
        )
    if experiment.optimizer.average > 1 and not fit.monitor.startswith("val_"):
        raise ValueError(
            "Expected a monitor on dev with average > 1. "
            f"Received: monitor={fit.monitor!r}, average={experiment.optimizer.average}"
        )
    if fit.batch_tokens and not task.spec.batches_of_tokens:
        raise ValueError(
            f"Expected batch_tokens=0 with {type(task).__name__}, whose batches have batch_size "
            f"records. Received: batch_tokens={fit.batch_tokens}"
        )
