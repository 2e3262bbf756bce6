"""JSON lines, and JSON: a list of records or COCO captions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_attn.text_file import bytes_of
from keras_attn.untrusted import naming_damage, parse_json
from keras_attn_pipelines.data.record import Columns, Record, is_text, text_of


def read_jsonl(path: Path, columns: Columns) -> Iterator[Record]:
    """Yields the records of a file with one JSON object per line; skips blank lines."""
    for line, data in enumerate(bytes_of(path).split(b"\n"), 1):
        text = text_of(data).strip() if line == 1 else data.decode("utf-8", "surrogateescape")
        if not text.strip():
            continue
        if not is_text(text):
            yield Record(line, reason="not UTF-8")
            continue
        try:
            value = parse_json(text)
        except ValueError as error:
            yield Record(line, reason=f"malformed JSON: {error}")
            continue
        yield from _records(value, line, columns, "")


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


def is_coco(value: Any) -> bool:
    """Whether a JSON value is COCO captions."""
    keys = ("images", "annotations")
    return isinstance(value, dict) and all(isinstance(value.get(key), list) for key in keys)


def read_json(value: Any, columns: Columns) -> Iterator[Record]:
    """Yields the records of a loaded JSON value, identified by index instead of line."""
    if is_coco(value):
        yield from _coco(value, columns)
        return
    for index, row in enumerate(value):
        yield from _records(row, 0, columns, f"record {index}: ")


def _records(value, line, columns, place):
    """The records in one JSON object; the second field may be a list."""
    if not isinstance(value, dict):
        yield Record(line, reason=f"{place}expected an object, received {value!r:.40}")
        return
    value = members_of(value, columns)
    words = columns.known.words
    first = value.get(columns.first_of(list(value)))
    texts = value.get(columns.second_of(list(value)))
    reason = "" if isinstance(first, str) else f"{place}no {words[0]}; keys: {_keys(value)}"
    texts = texts if isinstance(texts, list) else [texts]
    if columns.known.integers:
        texts = [str(text) if type(text) is int else text for text in texts]
    for text in texts or [None]:
        missing = f"{words[1]}; keys: {_keys(value)}" if text is None else words[1]
        yield _checked(line, first, text, reason, place, missing)


def _keys(value):
    names = ", ".join(value) or "none"
    return f"{names:.80}".encode(errors="backslashreplace").decode()


def _coco(value, columns):
    """Annotations in order, then the images without annotations."""
    images = [image for image in value["images"] if isinstance(image, dict)]
    names = {_key(image.get("id")): image.get("file_name") for image in images}
    described = set()
    for index, annotation in enumerate(value["annotations"]):
        place = f"annotation {index}: "
        if not isinstance(annotation, dict):
            yield Record(0, reason=f"{place}expected an object, received {annotation!r:.40}")
            continue
        key = _key(annotation.get("image_id"))
        described.add(key)
        known = isinstance(names.get(key), str)
        reason = "" if known else f"{place}no image with the id {annotation.get('image_id')!r:.40}"
        caption = annotation.get(columns.second_of(list(annotation)))
        yield _checked(0, names.get(key), caption, reason, place, columns.known.words[1])
    for index, image in enumerate(value["images"]):
        if not isinstance(image, dict):
            yield Record(0, reason=f"image {index}: expected an object, received {image!r:.40}")
        elif _key(image.get("id")) not in described:
            yield Record(0, reason=f"image {index}: no caption for {image.get('file_name')!r:.80}")


def _key(value):
    """A hashable key for any JSON value."""
    return json.dumps(value)


def _checked(line, first, text, reason, place, word):
    if not reason and text is None:
        reason = f"{place}no {word}"
    elif not reason and not isinstance(text, str):
        reason = f"{place}the {word} is not a string: {text!r:.40}"
    elif not reason and not (is_text(first) and is_text(text)):
        reason = f"{place}not UTF-8"
    return Record(line, reason=reason) if reason else Record(line, first, text)
