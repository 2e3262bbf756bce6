"""The files of vocabularies beside a checkpoint."""

import os
from pathlib import Path

from keras_attn.pretrained.files import read_settings


def file_of(checkpoint, name) -> Path:
    path = checkpoint.folder / name
    if not path.is_file():
        raise ValueError(
            f"Expected {name} in {os.fspath(checkpoint.folder)!r}, the vocabulary of the model; "
            "download it from where the weights are from. "
            f"Received: {sorted(entry.name for entry in checkpoint.folder.iterdir())[:20]}"
        )
    return path


def ids_of(checkpoint, name) -> dict[str, int]:
    """The ids of pieces in a JSON file."""
    path = file_of(checkpoint, name)
    return checked_ids(read_settings(path), path)


def checked_ids(ids, path) -> dict[str, int]:
    if not ids or not all(type(place) is int and place >= 0 for place in ids.values()):
        raise ValueError(f"Expected ids >= 0 of pieces in {os.fspath(path)!r}. Received: others")
    return ids


def names_of(checkpoint, ids, size, what) -> list[str]:
    """The piece of each id up to `size`; "" for holes."""
    outside = {name: place for name, place in ids.items() if place >= size}
    if outside:
        name, place = next(iter(outside.items()))
        raise ValueError(
            f"Expected the {what} of {os.fspath(checkpoint.folder)!r} to have ids < {size}, the "
            f"rows of its table. Received: {len(outside)} others, such as {place} for {name!r}"
        )
    names = [""] * size
    for name, place in ids.items():
        if names[place]:
            raise ValueError(
                f"Expected each id once in the {what} of {os.fspath(checkpoint.folder)!r}. "
                f"Received: {place} for {names[place]!r} and {name!r}"
            )
        names[place] = name
    return names


def special_id(checkpoint, ids, name, what) -> int:
    if name not in ids:
        raise ValueError(
            f"Expected {name} in the {what} of {os.fspath(checkpoint.folder)!r}. Received: no such "
            "piece"
        )
    return ids[name]


def check_ids(checkpoint, size, **ids):
    for name, place in ids.items():
        if not 0 <= place < size:
            raise checkpoint.refusal(f"{name}={place}, with {size} rows of its table")
