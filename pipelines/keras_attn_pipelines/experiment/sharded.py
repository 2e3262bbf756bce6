"""The records of a source, which may have been prepared in shards."""

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Any

from keras_attn.untrusted import check_types, naming_damage
from keras_attn_pipelines.data.shards.shards import METADATA_FILE, Shards, naming_shards, shards_in
from keras_attn_pipelines.data.training_data import Records

DESCRIBED = {"records": str, "description": str, "source": dict, "kinds": dict, "digests": dict}
"""What is known of records when they are written, and its types in JSON."""
REQUIRED = ("train", "dev")
"""Splits that training needs."""


def find_records(source, data) -> None:
    """See `Source.find`; of shards, their description is checked."""
    shards = shards_in(data)
    if shards is not None:
        _checked(source, shards)
    elif hasattr(source, "find"):
        source.find(data)


def read_records(source, data) -> Records:
    """See `Source.read`; records in shards stay there until they are asked for.

    Raises:
        ValueError: also shards of other records, or prepared with other settings of the source.
    """
    shards = shards_in(data)
    if shards is None:
        return source.read(data)
    splits = {name: _split(source, shards, name) for name in REQUIRED}
    counts = ", ".join(f"{len(records)} {name}" for name, records in splits.items())
    prepared = shards.description["description"]
    return Records(
        splits,
        lines=[f"shards: {shards.folder} ({counts}; prepared from {prepared})"],
        files={name: shards.folder / name for name in splits},
        naming_faults=functools.partial(naming_shards, splits.values()),
        tolerance=_tolerance(shards),
    )


def read_split(source, data, name: str) -> Sequence[Any]:
    """See `Source.split`."""
    shards = shards_in(data)
    return source.split(data, name) if shards is None else _split(source, shards, name)


def record_type(source) -> type:
    """The dataclass of a source's records.

    Raises:
        ValueError: the source does not name one.
    """
    record = source.record_type() if hasattr(source, "record_type") else None
    if not (isinstance(record, type) and dataclasses.is_dataclass(record)):
        raise ValueError(
            "Expected a source whose records are read from files one by one, with a method "
            "record_type that returns their dataclass. "
            f"Received: {type(source).__name__} ({source.records})"
        )
    return record


def _split(source, shards, name):
    _checked(source, shards)
    return shards.split(name, record_type(source))


def _checked(source, shards: Shards) -> None:
    """Raises ValueError unless shards have records of a source as it is set.

    A setting that is the part's default counts as not given.
    """
    description = shards.description
    with naming_damage(f"a description of records in {shards.folder / METADATA_FILE}"):
        check_types(description, **DESCRIBED)
    if description["records"] != source.records:
        raise ValueError(
            f"Expected {source.records} in {shards.folder}. Received: {description['records']}"
        )
    given, usual = _settings(source), _settings(type(source)())
    prepared = _flat(description["source"])
    for key, value in given.items():
        if value not in (usual[key], prepared.get(key, value)):
            raise ValueError(
                f"Expected {key}={prepared[key]!r}, with which {shards.folder} was prepared. "
                f"Received: {key}={value!r}"
            )


def _tolerance(shards: Shards) -> float:
    """The share of unusable records that the shards were prepared with."""
    prepared = _flat(shards.description["source"]).get("tolerance")
    return prepared if isinstance(prepared, int | float) else Records.tolerance


def _settings(source) -> dict[str, Any]:
    """The values of a source's fields, those of nested parts included, as JSON has them."""
    return _flat(json.loads(json.dumps(dataclasses.asdict(source))))


def _flat(content) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= _flat(value) if isinstance(value, dict) else {key: value}
    return flat
