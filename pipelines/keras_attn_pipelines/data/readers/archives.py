"""Archives of records, WebDataset's tar files and parquet, unpacked once into a data folder."""

import hashlib
import json
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from keras_attn.contracts import PICTURE_SUFFIXES
from keras_attn.extras import import_optional
from keras_attn.progress import Progress
from keras_attn.untrusted import check_tar, naming_damage, parse_json
from keras_attn.whole_file import made_folder, move_folder, whole_folder
from keras_attn_pipelines.data.columns import IMAGE_COLUMNS, Marks
from keras_attn_pipelines.data.data_files import check_inside
from keras_attn_pipelines.data.readers.forms import DELIMITERS, LINES
from keras_attn_pipelines.data.readers.tfds_reader import SUFFIXES
from keras_attn_pipelines.data.split_names import SPLIT_NAMES, split_in
from keras_attn_pipelines.data.user_cache import user_cache

TEXTS = (".txt", ".text", ".caption")
CLASSES = (".cls", ".label")
NAMES = sorted((name for names in SPLIT_NAMES.values() for name in names), key=len, reverse=True)
SHARD = re.compile(rf"{'|'.join(NAMES)}|of|[\W\d_]+")
"""What differs between the names of one data set's archives."""


def unpacked(data, cache=None) -> tuple[Path, str] | None:
    """The folder of the unpacked archives of a data folder, or of one archive, and the name of
    their layout; None if it has none.

    images/ has the pictures, records.jsonl what belongs to them, with the splits that the names of
    the archives say. They are unpacked again when an archive changes.

    Args:
        data: path of a data folder or of one archive.
        cache: path of the folder for unpacked archives; in the user's cache if None.

    Raises:
        ValueError: an archive is damaged, has links or names that lead out of it, or names a split
            where another one does not.
        ImportError: pyarrow is needed for parquet, but not installed.
    """
    files = _archives(Path(data))
    if not files:
        return None
    form, read, check = FORMS[files[0].suffix.lower()]
    states = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    digest = hashlib.sha256(json.dumps(states).encode()).hexdigest()[:32]
    cache = user_cache() / "unpacked" if cache is None else Path(cache)
    folder = cache / f"{Path(data).stem}-{digest}"
    if not folder.is_dir():
        splits = _splits(files)
        for file in files:
            check(file)
        with whole_folder(made_folder(cache)) as partial:
            _write(partial, files, splits, read)
            move_folder(partial, folder)
    return folder, form


def _archives(path) -> list[Path]:
    """The archives of one kind in a folder, or in its folder `data` as hubs have it."""
    if path.is_file():
        return [path] if path.suffix.lower() in FORMS else []
    for folder in (path, path / "data"):
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        files = [file for file in inside if file.is_file()]
        found = [file for file in files if file.suffix.lower() in FORMS]
        if not found:
            continue
        names = [file.name for file in found]
        if others := [entry.name for entry in (*path.iterdir(), *files) if _has_records(entry)]:
            named = [name for name in others if split_in(name.split(".")[0])]
            if named and (split := [name for name in names if split_in(Path(name).stem)]):
                raise ValueError(
                    f"Expected one layout in {path}. Received: {', '.join(split)} beside "
                    f"{', '.join(named)}"
                )
            return []
        if len({file.suffix.lower() for file in found}) > 1:
            raise ValueError(
                f"Expected archives of one kind in {folder}. Received: {', '.join(names)}"
            )
        return [check_inside(file, path) for file in found]
    return []


def _has_records(entry) -> bool:
    """Whether an entry beside archives may have records of its own: a table, text or JSON of a
    split, or a folder of pictures or classes."""
    if entry.is_dir():
        return entry.name != "data" and not entry.name.startswith(".")
    suffix = entry.suffix.lower()
    named = suffix in (".json", ".txt") and bool(split_in(entry.stem))
    return named or suffix in (*DELIMITERS, *LINES)


def _splits(files: Sequence[Path]) -> list[str]:
    """The split that each archive's name says; '' for all if none says one."""
    splits = [split_in(file.stem) for file in files]
    sets = {SHARD.sub("", file.stem.lower()) for file in files}
    if len(sets) > 1 and any(splits):
        names = ", ".join(file.name for file in files)
        raise ValueError(f"Expected archives of one data set. Received: {names}")
    if any(splits) and not all(splits):
        received = ", ".join(file.name for file, split in zip(files, splits) if not split)
        raise ValueError(
            "Expected archives that all have a split in their names, such as train-000.tar, or "
            f"none. Received: {received} beside others with one"
        )
    return splits


def _write(folder, files, splits, read):
    """Writes pictures and records."""
    (folder / "images").mkdir()
    with (folder / "records.jsonl").open("w", encoding="utf-8") as lines:
        for file, split in zip(files, splits):
            for number, (picture, record) in enumerate(
                Progress.over(read(file), f"unpacking {file.name}", "record")
            ):
                if picture is not None:
                    name = f"{file.stem}_{number:06d}{SUFFIXES.get(picture[:2], '.jpg')}"
                    (folder / "images" / name).write_bytes(picture)
                    record = {"image": name} | record
                if split and Marks.of(list(record)).split is None:  # The record's own goes first.
                    record["split"] = split
                lines.write(json.dumps(record, default=_as_text) + "\n")


def _read_tar(path) -> Iterator[tuple[bytes | None, dict[str, Any]]]:
    """A picture and what belongs to it, for each sample: members of one name but for suffixes."""
    sample: dict[str, bytes] = {}
    last = None
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member)
            place = PurePosixPath(member.name)
            if content is None or place.name.startswith("."):
                continue
            key, suffix = place.with_suffix(""), place.suffix.lower()
            if last not in (None, key) or suffix in sample:
                yield _sample(sample, f"{last} in {path}")
                sample = {}
            sample[suffix], last = content.read(), key
    if sample:
        yield _sample(sample, f"{last} in {path}")


def _sample(members, place):
    """The picture of a sample, and its record.

    Raises:
        ValueError: a picture and nothing about it, or malformed JSON.
    """
    picture = next((data for name, data in members.items() if name in PICTURE_SUFFIXES), None)
    record: dict[str, Any] = {}
    for name, data in members.items():
        text = data.decode("utf-8", "surrogateescape") if name not in PICTURE_SUFFIXES else ""
        if name == ".json":
            with naming_damage(f"JSON of {place}"):
                value = parse_json(text)
            record |= value if isinstance(value, dict) else {}
        elif name in TEXTS:
            record["captions"] = [line for line in text.split("\n") if line.strip()]
        elif name in CLASSES:
            record["label"] = text.strip()
    if not record:
        raise ValueError(
            f"Expected a text, JSON or class beside the picture {place}. "
            f"Received: {', '.join(members)} alone"
        )
    return picture, {key: value for key, value in record.items() if key not in IMAGE_COLUMNS}


def _parquet(path):
    """The module that reads parquet."""
    return import_optional("parquet files", "pyarrow.parquet", "parquet")


def _read_parquet(path) -> Iterator[tuple[bytes | None, dict[str, Any]]]:
    """A picture and the other values of each row; integers of classes as their names."""
    try:
        with _parquet(path).ParquetFile(path) as file:
            names = _class_names(file.schema_arrow.metadata or {})
            for batch in file.iter_batches(batch_size=64):
                for row in batch.to_pylist():
                    yield _row(row, names)
    except (OSError, ValueError) as error:
        raise ValueError(f"Expected a whole parquet file at {path}. Received: {error}") from error


def _row(row, names):
    pictures = {key: data for key, value in row.items() if (data := _picture(value)) is not None}
    known = [name for name in (*IMAGE_COLUMNS, *pictures) if name in pictures]
    if len(pictures) > 1 and known[0] not in IMAGE_COLUMNS:
        raise ValueError(f"one column of pictures or one named image, and {', '.join(pictures)}")
    record = {}
    for key, value in row.items():
        if key in names and isinstance(value, int):  # Below 0 stands for no class.
            value = names[key][value] if 0 <= value < len(names[key]) else None
        if key not in pictures:
            record[key] = value
    return pictures[known[0]] if known else None, record


def _picture(value):
    """The bytes of a picture, with its path or alone; None for another value."""
    if isinstance(value, dict):
        value = value.get("bytes")
        return value if isinstance(value, bytes) else None
    return value if isinstance(value, bytes) and value[:2] in SUFFIXES else None


def _as_text(value):
    """A value that JSON cannot hold as its text."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _class_names(metadata) -> dict[str, list[str]]:
    """By column, the names of the classes that its integers stand for, as hubs write them."""
    try:
        features = parse_json(metadata[b"huggingface"].decode())["info"]["features"]
        return {key: kind["names"] for key, kind in features.items() if "names" in kind}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


FORMS = {
    ".tar": ("WebDataset", _read_tar, check_tar),
    ".parquet": ("parquet", _read_parquet, _parquet),
}
"""By suffix: the name of the layout, the function that reads an archive, and one that checks it
before anything is written."""
