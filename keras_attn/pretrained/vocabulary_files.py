"""The files of vocabularies beside a checkpoint."""

import os
from pathlib import Path

from keras_attn.pretrained.files import read_settings
from keras_attn.untrusted import naming_damage

WHOLE, MERGES = "tokenizer.json", "merges.txt"
_ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


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


def object_in(settings, name) -> dict:
    """An object inside an object; {} where there is none."""
    value = settings.get(name)
    return value if isinstance(value, dict) else {}


def check_tokenizer(checkpoint, what, settings, known):
    """Raises ValueError for another value in a part of tokenizer.json than the known ones.

    Args:
        checkpoint: `Checkpoint`.
        what: name of the part.
        settings: dict.
        known: tuple of values by name.
    """
    for name, values in known.items():
        value = settings.get(name)
        if value not in values:
            where = os.fspath(checkpoint.folder / WHOLE)
            raise checkpoint.refusal(f"{name}={value!r:.80} of the {what} in {where!r}")


def listed_merges(checkpoint, model) -> list[tuple[str, ...]]:
    """The merges of the model in tokenizer.json, a dict.

    Raises:
        ValueError: no list of them.
    """
    if not isinstance(model.get("merges"), list):
        raise checkpoint.refusal(f"no list of merges in {WHOLE}")
    return [tuple(each.split(" ") if isinstance(each, str) else each) for each in model["merges"]]


def merges_of(checkpoint) -> list[tuple[str, ...]]:
    """The merges in merges.txt.

    Raises:
        ValueError: no such file.
    """
    lines = file_of(checkpoint, MERGES).read_text(encoding="utf-8").split("\n")
    return [
        tuple(line.rstrip("\r").split(" "))
        for place, line in enumerate(lines)
        if line.strip() and not (place == 0 and line.startswith("#version"))
    ]


def added_tokens(checkpoint, settings) -> dict[str, int]:
    """The ids of the special tokens in the contents of tokenizer.json.

    Raises:
        ValueError: an added token that is text, or damaged ones.
    """
    added = settings.get("added_tokens") or []
    with naming_damage(f"added_tokens in {os.fspath(checkpoint.folder / WHOLE)!r}"):
        ids = {each["content"]: each["id"] for each in added}
        plain = [each["content"] for each in added if not each["special"]]
    if plain:
        raise checkpoint.refusal(f"added tokens that are no special ones: {plain[:5]}")
    return checked_ids(ids, checkpoint.folder / WHOLE) if ids else {}


def special_ids(checkpoint, pieces, usual) -> dict[str, int]:
    """The ids of the special tokens that other files of a tokenizer than tokenizer.json name.

    Args:
        checkpoint: `Checkpoint`.
        pieces: ids of pieces.
        usual: names of those that this kind of tokenizer has if no file says otherwise.
    """
    ids = {name: pieces[name] for name in usual if name in pieces}
    ids |= read_settings(checkpoint.folder / "added_tokens.json")
    for file in ("special_tokens_map.json", "tokenizer_config.json"):
        settings = read_settings(checkpoint.folder / file)
        more = settings.get("additional_special_tokens")
        named = [settings.get(f"{role}_token") for role in _ROLES]
        named += more if isinstance(more, list) else []
        for token in named:
            token = token.get("content") if isinstance(token, dict) else token
            if isinstance(token, str) and token in pieces:
                ids[token] = pieces[token]
    return checked_ids(ids, checkpoint.folder / "added_tokens.json") if ids else {}
