"""JSON lines, and JSON: a list of records or COCO captions."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from keras_attn.text_file import bytes_of, is_text, text_of
from keras_attn.untrusted import naming_damage, parse_json, scalar_text
from keras_attn_pipelines.data.columns import CAPTIONS, GUESSED_FROM, Columns
from keras_attn_pipelines.data.record import Reader, Record
from keras_attn_pipelines.data.split_names import split_named
from keras_attn_pipelines.data.text_lines import start_of


def open_lines(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of the format of JSON lines, and its reader.

    Raises:
        ValueError: no object near its start has the keys.
    """
    columns = _settled(columns, _objects(path))
    if all(columns.missing_of(list(members_of(value, columns))) for value in _objects(path)):
        first = next(_objects(path), None)
        first = first and members_of(first, columns)
        shown = "no JSON object" if first is None else json.dumps(first, ensure_ascii=False)
        columns.check(list(first or ()), path, "key", f"{shown:.120}")
    return columns.form("JSON lines"), partial(read_jsonl, path, columns)


def open_json(path: Path, columns: Columns) -> tuple[str, Reader]:
    """The name of the format of a JSON file, and its reader.

    Raises:
        ValueError: it is none of records.
    """
    try:
        value = load_json(path)
    except ValueError:
        if len(list(islice(_objects(path), 2))) < 2:
            raise
        return open_lines(path, columns)
    for form, is_one, read in OBJECTS if columns.known is CAPTIONS else ():
        if is_one(value, columns):
            return form, partial(read, value, columns)
    records = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    columns = _settled(columns, records)
    if not any(not columns.missing_of(list(members_of(row, columns))) for row in records):
        words = " and a ".join(columns.known.words)
        coco = "COCO captions or " if columns.known is CAPTIONS else ""
        raise ValueError(
            f"Expected {coco}a list of objects, each with a {words}, in {path}. "
            f"Received: {json.dumps(value):.80}"
        )
    return columns.form("JSON records"), partial(_list, value, columns)


def _objects(path):
    """The JSON objects near the start of a JSON lines file."""
    for line in start_of(path).split("\n"):
        try:
            value = parse_json(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _settled(columns, objects):
    """Columns with guesses from the first objects in JSON."""
    first = list(islice(objects, GUESSED_FROM))
    keys = list(dict.fromkeys(key for value in first for key in value))
    if not first or any(
        not columns.missing_of(list(members_of(value, columns))) for value in first
    ):
        return columns
    rows = [[_shown(value.get(key)) for key in keys] for value in first]
    return columns.settled(keys, rows)


def _shown(value):
    """A value in JSON as its text; of a list of texts, the first; '' for other ones."""
    value = value[0] if isinstance(value, list) and value else value
    value = json.dumps(value) if isinstance(value, dict) else scalar_text(value)
    return value if isinstance(value, str) else ""


def read_jsonl(path: Path, columns: Columns) -> Iterator[Record]:
    """Yields the records of a file with one JSON object per line; skips blank lines."""
    for line, value, reason in json_lines(path):
        if reason:
            yield Record(line, reason=reason)
        else:
            yield from _records(value, line, columns, "")


def json_lines(path: Path) -> Iterator[tuple[int, Any, str]]:
    """Yields line, value and reason for each line of JSON that is not blank; the reason says why it
    is malformed, or is ''."""
    for line, data in enumerate(bytes_of(path).split(b"\n"), 1):
        text = text_of(data).strip() if line == 1 else data.decode("utf-8", "surrogateescape")
        if not text.strip():
            continue
        if not is_text(text):
            yield line, None, "not UTF-8"
            continue
        try:
            yield line, parse_json(text), ""
        except ValueError as error:
            yield line, None, f"malformed JSON: {error}"


def members_of(value: dict, columns: Columns) -> dict:
    """The object with both fields of a record: itself, or its value of "translation"."""
    inner = value.get("translation")
    return inner if isinstance(inner, dict) and columns.missing_of(list(value)) else value


def load_json(path: Path) -> Any:
    """A JSON file's value.

    Raises:
        ValueError: it is malformed.
    """
    text = text_of(bytes_of(path))
    with naming_damage(f"JSON in {path}"):
        return parse_json(text)


def _list(value, columns) -> Iterator[Record]:
    """The records in a list, identified by index instead of line."""
    for index, row in enumerate(value):
        yield from _records(row, 0, columns, f"record {index}: ")


def _records(value, line, columns, place):
    """The records in one JSON object; the second field may be a list."""
    if not isinstance(value, dict):
        yield Record(line, reason=f"{place}expected an object, received {value!r:.40}")
        return
    marks, outer = columns.marks_of(list(value)), value
    value = members_of(value, columns)
    words, names = columns.known.words, ", ".join(value) or "none"
    keys = f"; keys: {names:.80}".encode(errors="backslashreplace").decode()
    first = scalar_text(value.get(columns.first_of(list(value))))
    texts = value.get(columns.second_of(list(value)))
    reason = "" if isinstance(first, str) else f"{place}no {words[0]}{keys}"
    texts = [scalar_text(text) for text in (texts if isinstance(texts, list) else [texts])]
    for text in texts or [None]:
        missing = f"{words[1]}{keys if text is None else ''}"
        yield marks.marked(_checked(line, first, text, reason, place, missing), outer)


def _is_coco(value, columns):
    """Whether a JSON value is COCO captions; its other annotations, such as boxes, are none."""
    keys = ("images", "annotations")
    if not (isinstance(value, dict) and all(isinstance(value.get(key), list) for key in keys)):
        return False
    said = [note for note in value["annotations"] if isinstance(note, dict)]
    return not said or any(columns.second_of(list(note)) is not None for note in said)


def _coco(value, columns):
    """Annotations in order, then the images without annotations."""
    images = [image for image in value["images"] if isinstance(image, dict)]
    names: dict[str, Any] = {}
    for image in images:
        name, key = image.get("file_name"), json.dumps(image.get("id"))
        names[key] = name if names.get(key, name) == name else None  # One id of two images.
    described = set()
    for index, annotation in enumerate(value["annotations"]):
        place = f"annotation {index}: "
        if not isinstance(annotation, dict):
            yield Record(0, reason=f"{place}expected an object, received {annotation!r:.40}")
            continue
        key = json.dumps(annotation.get("image_id"))
        described.add(key)
        known = isinstance(names.get(key), str)
        reason = "" if known else f"{place}no image with the id {annotation.get('image_id')!r:.40}"
        caption = annotation.get(columns.second_of(list(annotation)))
        yield _checked(0, names.get(key), caption, reason, place, columns.known.words[1])
    for index, image in enumerate(value["images"]):
        if not isinstance(image, dict):
            yield Record(0, reason=f"image {index}: expected an object, received {image!r:.40}")
        elif json.dumps(image.get("id")) not in described:
            yield Record(0, reason=f"image {index}: no caption for {image.get('file_name')!r:.80}")


def _is_karpathy(value, columns):
    """Whether a JSON value is Karpathy's split of Flickr8k, Flickr30k or COCO."""
    images = value.get("images") if isinstance(value, dict) else None
    return isinstance(images, list) and any(
        isinstance(image, dict) and isinstance(image.get("sentences"), list) for image in images
    )


def _karpathy(value, columns):
    """The raw sentences of each image, in order."""
    for index, image in enumerate(value["images"]):
        place = f"image {index}: "
        if not (isinstance(image, dict) and isinstance(image.get("filename"), str)):
            yield Record(0, reason=f"{place}expected an object with a filename")
            continue
        folder, split = image.get("filepath"), image.get("split")
        name = f"{folder}/{image['filename']}" if isinstance(folder, str) else image["filename"]
        sentences = image.get("sentences")
        said = [
            sentence.get("raw") if isinstance(sentence, dict) else None
            for sentence in (sentences if isinstance(sentences, list) else [])
        ]
        split = split_named(split) if isinstance(split, str) else ""
        for text in said or [None]:
            yield replace(_checked(0, name, text, "", place, "raw sentence"), split=split)


def _checked(line, first, text, reason, place, word):
    if not reason and text is None:
        reason = f"{place}no {word}"
    elif not reason and not isinstance(text, str):
        reason = f"{place}the {word} is not a string: {text!r:.40}"
    elif not reason and not (is_text(first) and is_text(text)):
        reason = f"{place}not UTF-8"
    return Record(line, reason=reason) if reason else Record(line, first, text)


OBJECTS = (
    ("COCO captions", _is_coco, _coco),
    ("Karpathy's split", _is_karpathy, _karpathy),
)
"""What data sets of captions have in JSON: the layout's name, a function from value and columns to
whether it is one, and one that yields its records."""
