"""Reads and validates recipe.json, the description of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_attn.untrusted import read_json
from keras_attn_pipelines.experiment.stored import described

ENDED, KEPT, DIGEST, BACKEND = "ended", "kept", "sha256", "backend"
EXAMPLE, FACTS = "example", "facts"
"""A request of dev that `keras-attn predict` takes, and lines on what was read."""
DIGESTS = "digests"
"""SHA-256 of each vocabulary's folder, by name."""
START, ERROR_OF = "start", "error of "
"""Metrics before the first epoch of a training from other weights, with their standard errors."""
MEAN_OF, ENSEMBLE_OF = COMBINED = ("mean_of", "ensemble_of")
"""Paths of the runs that a run was made of."""
COUNTS = {"records", "vocabularies"}
TEXTS = {"recipe", "data", "precision", "strategy", "unit", "fingerprint", "model"}


def read_description(path: Path) -> dict[str, Any]:
    """The description in a file.

    Raises:
        ValueError: no such file, a damaged one, or one of an earlier version.
    """
    if not path.is_file():
        raise ValueError(f"Expected a run directory with {path.name}. Received: {path.parent}")
    content = read_json(path)
    if not isinstance(content, dict):
        raise ValueError(f"Expected a JSON object in {path}. Received: {content!r:.80}")
    described(path, content)
    for key, value in content.items():
        if wanted := _wrong(key, value):
            raise ValueError(f"Expected {key} in {path} to be {wanted}. Received: {value!r:.80}")
    if missing := sorted((COUNTS | TEXTS) - {"fingerprint"} - set(content)):
        raise ValueError(f"Expected {', '.join(missing)} in {path}. Received: nothing of it")
    return content


def _wrong(key, value) -> str:
    """What a value should be; empty if it is valid."""
    if key in TEXTS | {BACKEND} and not isinstance(value, str):
        return "a string"
    if key == "from" and not isinstance(value, str | None):
        return "a string or null"
    if key == "origin" and not (value is None or _is_origin(value)):
        return "null or an object of strings with name"
    if key == DIGESTS and not _are_texts(value):
        return "an object of strings"
    if key in COUNTS and not _are_counts(value):
        return "an object of counts"
    if key == START and not (isinstance(value, Mapping) and all(map(_is_number, value.values()))):
        return "an object of numbers"
    if key == EXAMPLE and not isinstance(value, str):
        return "a string"
    if key == FACTS and not (isinstance(value, list) and all(isinstance(x, str) for x in value)):
        return "a list of strings"
    if key == ENDED and not isinstance(value, bool):
        return "true or false"
    if key in COMBINED and not (
        isinstance(value, list) and all(isinstance(path, str) for path in value)
    ):
        return "a list of paths"
    if key == KEPT and not (isinstance(value, Mapping) and isinstance(value.get(DIGEST), str)):
        return f"an object with {DIGEST}"
    return ""


def _is_number(value):
    return type(value) in (int, float)


def _are_texts(value):
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def _is_origin(value):
    return _are_texts(value) and "name" in value


def _are_counts(value):
    return isinstance(value, Mapping) and all(type(count) is int for count in value.values())
