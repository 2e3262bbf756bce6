"""An experiment: a source, a task, a model, an optimizer and a fit."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from keras_attn_pipelines.experiment.fields import (
    check_members,
    check_part,
    field_types,
    kind_name,
    shown_value,
)
from keras_attn_pipelines.experiment.fit import Fit
from keras_attn_pipelines.experiment.optimizer import Adam
from keras_attn_pipelines.experiment.parts import Model, Optimizer, Source, Task, Work

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

    @property
    def work(self) -> Work:
        """The task at work.

        Raises:
            ValueError: one that lacks a member of `Work`.
        """
        work = self.task.work()
        check_members("the work of task", work, Work)
        return work

    def values(self) -> dict[str, Any]:
        """The value of each field of each part, by the field's name."""
        return {
            declared.name: shown_value(owner, declared) for _, owner, declared in self._fields()
        }

    def check_start(self, name: str) -> None:
        """Raises ValueError if the training of a recipe cannot begin with random weights."""
        if self.needs_start:
            raise ValueError(f"Expected initial weights (--from) for {name}. Received: none")

    def replaced(self, values: Mapping[str, Any]) -> "Experiment":
        """A copy with some fields replaced.

        Args:
            values: new values by field name, whichever part has the field; of a choice, the name
                of its part, which keeps the fields that the earlier part has too.

        Raises:
            ValueError: an unknown field, one that the chosen parts lack, or a value out of its
                range.
        """
        if unknown := sorted(set(values) - {declared.name for _, declared, _, _ in self.flags()}):
            raise ValueError(f"Expected fields of the recipe. Received: {', '.join(unknown)}")
        changed = replace(self, **{name: _replaced(getattr(self, name), values) for name in PARTS})
        if lacking := sorted(set(values) - set(changed.values())):
            raise ValueError(
                f"Expected fields of the recipe with {changed._choices()}. "
                f"Received: {', '.join(lacking)}"
            )
        return changed

    def check_effect(self, values: Mapping[str, Any]) -> None:
        """Raises ValueError for one of these values that has no effect beside the other fields.

        Args:
            values: that were asked for, by field name; those that are a field's default pass.
        """
        chosen = self.values()
        for _, _, declared in self._fields():
            name = declared.name
            if name not in values or values[name] == declared.default:
                continue
            for needs in declared.metadata["needs"]:
                if any(_is_on(chosen.get(other), value) for other, value in needs.items()):
                    continue
                other = next((other for other in needs if other in chosen), min(needs))
                received = f"{other}={chosen[other]!r}" if other in chosen else f"no {other}"
                raise ValueError(
                    f"Expected {_wanted(other, needs[other])} with {name}, which has no effect "
                    f"otherwise. Received: {received}, {name}={values[name]!r}"
                )

    def settled(self) -> dict[str, Any]:
        """Values of the fields that trained weights and vocabularies fix."""
        return self._values_of("settled")

    def inherited(self) -> dict[str, Any]:
        """Values of the fields that training with earlier weights may replace; see `option`."""
        return self._values_of("inherited")

    def flags(self) -> Iterator[tuple[str, dataclasses.Field, Any, Any]]:
        """(name of the part, field, type, value) of everything that the command line can set.

        Of choices, the fields of parts that could take the chosen one's place are included.
        """
        for name, owner, declared in self._fields(others=True):
            kind = field_types(type(owner))[declared.name]
            kind = str if "kinds" in declared.metadata else kind
            yield name, declared, kind, shown_value(owner, declared)

    def differing(self, values: Mapping[str, Any]) -> list[str]:
        """Names of those values that cannot replace the ones that trained weights fix."""
        return [
            declared.name
            for _, owner, declared in self._fields()
            if declared.name in values
            and not _may_replace(
                declared.metadata, shown_value(owner, declared), values[declared.name]
            )
        ]

    def _values_of(self, mark):
        return {
            declared.name: shown_value(owner, declared)
            for _, owner, declared in self._fields()
            if declared.metadata[mark]
        }

    def _choices(self):
        """The parts of all choices, for messages."""
        return ", ".join(
            f"{declared.name}={shown_value(owner, declared)}"
            for _, owner, declared in self._fields()
            if "kinds" in declared.metadata
        )

    def _fields(self, others=False):
        for name in PARTS:
            for owner, declared in _options(getattr(self, name), others):
                yield name, owner, declared


def _is_on(value, wanted):
    """Whether a field has the value, or one of the values, that another needs."""
    if isinstance(wanted, bool):
        return bool(value) == wanted
    options = wanted if isinstance(wanted, tuple) else (wanted,)
    return not set(options).isdisjoint(value if isinstance(value, tuple) else (value,))


def _wanted(name, wanted):
    """The values of a field that another needs, for messages."""
    if isinstance(wanted, bool):
        return f"{name} to be set" if wanted else f"no {name}"
    options = wanted if isinstance(wanted, tuple) else (wanted,)
    return f"{name} of {' or '.join(map(repr, options))}"


def _may_replace(metadata, value, other):
    """Whether weights that were trained with a value go on with another."""
    among = metadata["inherited"]
    if value == other or not (metadata["settled"] or isinstance(among, tuple)):
        return True
    return not metadata["settled"] and {value, other} <= set(among)


def _options(owner, others) -> Iterator[tuple[Any, dataclasses.Field]]:
    """(part, field) of each option of a part and of the parts inside it.

    Args:
        owner: the part.
        others: whether, after a choice, fields follow that only its other parts have.
    """
    for declared in fields(owner):
        inner, names = getattr(owner, declared.name), set()
        if "range" in declared.metadata:
            yield owner, declared
        if not dataclasses.is_dataclass(inner):
            continue
        other_kinds = declared.metadata.get("kinds", {}).values() if others else ()
        for part in (inner, *(kind() for kind in other_kinds)):
            for nested, field_of_part in _options(part, others):
                if field_of_part.name not in names:
                    names.add(field_of_part.name)
                    yield nested, field_of_part


def _replaced(owner, values):
    """A copy of a part with some fields replaced, those of nested parts included."""
    changed = {}
    for declared in fields(owner):
        inner = getattr(owner, declared.name)
        if "kinds" in declared.metadata:
            inner = _chosen(declared, inner, values)
        elif declared.name in values and "range" in declared.metadata:
            changed[declared.name] = values[declared.name]
        if dataclasses.is_dataclass(inner):
            changed[declared.name] = _replaced(inner, values)
    return replace(owner, **changed) if changed else owner


def _chosen(declared, current, values):
    """The part of a choice that values name, with the fields that the current one has too."""
    name = values.get(declared.name, kind_name(declared, current))
    if name == kind_name(declared, current):
        return current
    kinds, limits = declared.metadata["kinds"], declared.metadata["range"]
    if not isinstance(name, str):
        raise ValueError(
            f"Expected {declared.name} of type str. Received: {declared.name}={name!r:.80}"
        )
    if name not in kinds:
        raise ValueError(
            f"Expected {declared.name} {limits}. Received: {declared.name}={name!r:.80}"
        )
    earlier = {shared.name: getattr(current, shared.name) for shared in fields(current)}
    fitting = {shared.name for shared in fields(kinds[name])}
    return kinds[name](
        **{key: value for key, value in {**earlier, **values}.items() if key in fitting}
    )


def _check_parts(experiment):
    """Raises ValueError for a part that is not a dataclass or lacks a member of its protocol."""
    protocols = {"source": Source, "task": Task, "model": Model, "optimizer": Optimizer}
    for name, protocol in protocols.items():
        check_part(name, getattr(experiment, name), protocol)
    if not isinstance(experiment.fit, Fit):
        raise ValueError(f"Expected fit to be a Fit. Received: {experiment.fit!r:.80}")


def _check_names(experiment):
    """Raises ValueError if two parts share a field name, since each field is a flag."""
    owners: dict[str, str] = {}
    for name, owner, declared in experiment._fields(others=True):
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
    metrics = {LOSS, task.spec.accuracy, *task.spec.monitors}
    if unknown := sorted(set(task.spec.best_possible) - metrics):
        raise ValueError(
            f"Expected best_possible of {', '.join(sorted(metrics))}. "
            f"Received: {', '.join(unknown)}"
        )
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
