"""Trained aligners in folders: a JSON file of options and words, an NPZ file of probabilities."""

import dataclasses
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from keras_attn.alignment.aligner import Aligner
from keras_attn.alignment.batches import words_of_keys
from keras_attn.alignment.direction import Direction
from keras_attn.alignment.options import MODELS, AlignerOptions
from keras_attn.alignment.vocabulary import Vocabulary
from keras_attn.untrusted import naming_damage, parse_json, read_arrays
from keras_attn.whole_file import check_folder, digest_of, made_folder, move_folder, whole_folder

FORMAT = 1
DESCRIPTION_FILE, TABLES_FILE, DIGEST = "aligner.json", "tables.npz", "sha256"
_DIRECTIONS = ("forward", "backward")


def save_aligner(aligner: Aligner, folder) -> None:
    """Writes an aligner: `aligner.json` and `tables.npz`.

    Args:
        aligner: `Aligner`.
        folder: path, new or an empty folder. It is there whole or not at all.

    Raises:
        ValueError: it holds something ("Expected a new folder. Received: models/en-sv, not
            empty").
    """
    folder = Path(folder)
    check_new_folder(folder)
    description = {
        "format": FORMAT,
        "options": dataclasses.asdict(aligner.options),
        "words": [list(vocabulary.words) for vocabulary in aligner.vocabularies],
    }
    arrays = {"log_likelihoods": aligner.log_likelihoods}
    for name in _DIRECTIONS:
        direction = getattr(aligner, name)
        tables = {"keys": direction.keys, "values": direction.lexicon.values}
        tables |= direction.distortion.arrays()
        arrays |= {f"{name}_{key}": value for key, value in tables.items()}
    with whole_folder(made_folder(folder.absolute().parent)) as partial:
        np.savez_compressed(partial / TABLES_FILE, **arrays)
        description[DIGEST] = _digest(description, partial / TABLES_FILE)
        text = json.dumps(description, ensure_ascii=False, indent=1)
        (partial / DESCRIPTION_FILE).write_text(text + "\n", encoding="utf-8")
        move_folder(partial, folder)


def check_new_folder(folder) -> None:
    """Raises ValueError for a folder to write that holds something, or cannot be one."""
    folder = Path(folder)
    check_folder(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"Expected a new folder. Received: {folder}, not empty")


def load_aligner(folder) -> Aligner:
    """The aligner that was saved in a folder.

    Args:
        folder: path of a folder that `save_aligner` wrote. Nothing in it is run.

    Returns:
        `Aligner`.

    Raises:
        ValueError: no aligner, or a damaged one; names the file ("Expected an aligner at
            models/en-sv. Received: tables.npz: no such file").
    """
    folder = Path(folder)
    with naming_damage(f"an aligner at {folder}", DESCRIPTION_FILE):
        description = parse_json((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"))
        options, vocabularies = _described(description)
    with naming_damage(f"an aligner at {folder}", TABLES_FILE):
        arrays = read_arrays(folder / TABLES_FILE)
        forward, backward = (
            _direction(arrays, name, options, [len(side.words) for side in vocabularies][::order])
            for name, order in zip(_DIRECTIONS, (1, -1), strict=True)
        )
        aligner = Aligner(forward, backward, vocabularies, options, arrays["log_likelihoods"])
        if DIGEST not in description:
            print(f"not verified: {folder} has no digest", file=sys.stderr)
        elif _digest(description, folder / TABLES_FILE) != description[DIGEST]:
            raise ValueError(f"tables that do not match the digest in {DESCRIPTION_FILE}")
    return aligner


def _digest(description, tables):
    """SHA-256 of all that an aligner holds: the rest of its description, and its tables."""
    rest = {key: value for key, value in description.items() if key != DIGEST}
    text = json.dumps(rest, sort_keys=True)
    return hashlib.sha256(f"{text}\n{digest_of(tables)}".encode()).hexdigest()


def _described(description):
    """Options and vocabularies of `aligner.json`."""
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"not a description of format {FORMAT}")
    words = description["words"]
    texts = isinstance(words, list) and len(words) == 2 and all(isinstance(s, list) for s in words)
    if not texts or not all(isinstance(word, str) for side in words for word in side):
        raise ValueError("words are not two lists of texts")
    options = {"spelling_weight": 0.0, **description["options"]}  # Earlier files have none.
    return AlignerOptions(**options), [Vocabulary(side) for side in words]


def _direction(arrays, name, options, words):
    """A direction of `tables.npz`, checked; words are the sizes of both vocabularies."""
    tables = {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(name)}
    keys, values = tables["keys"], tables["values"]
    if keys.dtype != np.int64 or keys.ndim != 1 or values.shape != keys.shape:
        raise ValueError(f"{name}: keys {keys.dtype} {keys.shape} and values {values.shape}")
    source, target = words_of_keys(keys)
    ordered = np.all(np.diff(keys) > 0) and np.all(keys >= 0)
    if not ordered or np.any(source > words[0]) or np.any((target < 1) | (target > words[1])):
        raise ValueError(f"{name}: keys are not sorted pairs of known words")
    for key, array in tables.items():
        finite = array.dtype.kind in "fi" and np.all(np.isfinite(array))
        if not finite or np.any(array < 0) or (key == "values" and np.any(array > 1 + 1e-9)):
            raise ValueError(f"{name}: {key} out of range")
    distortion = MODELS[options.model].of_arrays(tables, options.null_probability)
    return Direction(keys, distortion, values)
