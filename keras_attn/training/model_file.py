"""Reads `.keras` files, which may come from anyone."""

import json
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import keras
import numpy as np

CODE = ("Lambda", "__lambda__")
"""Classes in a Keras config that hold Python code."""


def read_model_file(path) -> keras.Model:
    """The model in a `.keras` file, without its optimizer. Nothing in the file is run.

    First every member is checked: its checksum, and that its name does not lead out of the archive.
    Keras loads in its safe mode, and finds only its own classes and registered ones.

    Args:
        path: of the file.

    Returns:
        `keras.Model`.

    Raises:
        ValueError: no `.keras` file, a damaged one, one of an unknown class, one with weights that
            are not finite, or one that holds code ("Expected a Keras model at run/model.keras.
            Received: one with a Lambda, whose code would be run").
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip() or next(
                filter(None, map(_misplaced, archive.infolist())), ""
            )
            config = archive.read("config.json")
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError) as error:
        damaged = str(error)
    except KeyError:
        damaged = "no config.json"
    if damaged:
        raise ValueError(f"Expected a Keras model at {path}. Received: a damaged file ({damaged})")
    try:
        code = code_in(json.loads(config))
        model = None if code else keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # Keras reads whatever the archive holds.
        raise ValueError(
            f"Expected a Keras model at {path}. "
            f"Received: a damaged file ({type(error).__name__}: {error!s:.300})"
        ) from error
    if code:
        raise ValueError(
            f"Expected a Keras model at {path}. "
            f"Received: one with a {code}, whose code would be run"
        )
    check_finite(model.variables, path)
    return model


def check_finite(variables, place) -> None:
    """Raises ValueError if a weight is NaN or infinite, as after a training that went wrong.

    Args:
        variables: of a model.
        place: where they come from, in the message.
    """
    for variable in variables:
        array = np.asarray(keras.ops.convert_to_numpy(variable))
        if array.dtype.kind not in "biuSUO" and not np.all(np.isfinite(array)):
            name = getattr(variable, "path", variable.name)
            raise ValueError(
                f"Expected finite weights in {place}. Received: NaN or infinity in {name}"
            )


def _misplaced(member: zipfile.ZipInfo) -> str:
    """What is wrong with a member that would be unpacked outside the archive's folder, or is a
    link; '' if it is neither."""
    name = PurePosixPath(member.filename)
    linked = stat.S_ISLNK(member.external_attr >> 16)
    if linked or name.is_absolute() or ".." in name.parts:
        return f"a member {member.filename!r} that leads out of it"
    return ""


def code_in(config) -> str:
    """The class in a Keras config that holds Python code; '' if there is none.

    Example:
        >>> code_in({"class_name": "Sequential", "config": {"layers": [{"class_name": "Lambda"}]}})
        'Lambda'
    """
    if isinstance(config, dict):
        if config.get("class_name") in CODE:
            return config["class_name"]
        config = list(config.values())
    if isinstance(config, list):
        return next(filter(None, map(code_in, config)), "")
    return ""
