"""Reads `.keras` files, which may come from anyone."""

import math
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import h5py
import keras
import numpy as np
from keras.src.backend.common import global_state  # What waits for memory has no public name.

from keras_attn.untrusted import check_member, naming_damage, parse_json

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
SPARE = 1 << 24
"""Numbers that a model may have beyond those of its file, in variables that are not stored."""
CODE = ("Lambda", "__lambda__")
"""Classes in a Keras config that hold Python code."""


def read_model_file(path) -> keras.Model:
    """The model in a `.keras` file, without its optimizer. Nothing in the file is run.

    First every member is checked: its checksum, and that its name does not lead out of the archive.
    Then the sizes that arrays declare are compared with the file, and those of the model's weights
    with the arrays, before memory is allocated. Keras loads in its safe mode, and finds only its
    own classes and registered ones.

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
    with naming_damage(f"a Keras model at {path}", "a damaged file"):
        config = _checked_config(path)
        code = code_in(config)
        if not code:
            _check_sizes(path, config)
            model: Any = keras.saving.load_model(path, compile=False, safe_mode=True)
    if code:
        raise ValueError(
            f"Expected a Keras model at {path}. "
            f"Received: one with a {code}, whose code would be run"
        )
    check_finite(model.variables, path)
    return model


def _checked_config(path):
    """The config of a model, after all members of its archive were checked."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            check_member(member)
            _check_place(member)
        if damaged := archive.testzip():
            raise ValueError(f"wrong checksum of {damaged}")
        for name in (CONFIG, WEIGHTS):
            if name not in archive.namelist():
                raise ValueError(f"no {name}")
        return parse_json(archive.read(CONFIG))


def _check_sizes(path, config):
    """Raises ValueError if arrays are larger than the file, or the model than its arrays.

    The model is built from its config without memory for its variables.
    """
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(WEIGHTS) as member,
        h5py.File(member) as file,
    ):
        members: list[Any] = []
        file.visititems(lambda name, member: members.append(member))
        arrays = [member for member in members if isinstance(member, h5py.Dataset)]
        declared, stored = (sum(getattr(a, of) for a in arrays) for of in ("nbytes", "size"))
        size = archive.getinfo(WEIGHTS).file_size
    if declared > size:
        raise ValueError(f"{WEIGHTS} of {size} bytes that declares arrays of {declared} bytes")
    built = _numbers(config)
    if built is not None and built > stored + SPARE:
        raise ValueError(f"a config with {built} weights, but arrays with {stored}")


def _numbers(config):
    """How many numbers the variables of a model have; None if layers of the user's, which are code
    that has been run already, cannot be built without memory."""
    try:
        with keras.StatelessScope(initialize_variables=False):
            model = keras.saving.deserialize_keras_object({**config, "compile_config": None})
        return sum(math.prod(variable.shape) for variable in model.variables)
    except (TypeError, ValueError):
        if all(name.startswith("keras_attn>") for name in keras.saving.get_custom_objects()):
            raise
        return None
    finally:
        global_state.set_global_attribute("uninitialized_variables", [])


def check_finite(variables, place) -> None:
    """Raises ValueError if a weight is NaN or infinite, as after a training that went wrong.

    Args:
        variables: of a model.
        place: where they come from, in the message.
    """
    for variable in variables:
        array = np.asarray(keras.ops.convert_to_numpy(variable))
        if array.dtype.kind not in "biuSUO" and not np.all(np.isfinite(array)):
            name = getattr(variable, "path", getattr(variable, "name", "a matrix"))
            raise ValueError(
                f"Expected finite weights in {place}. Received: NaN or infinity in {name}"
            )


def _check_place(member: zipfile.ZipInfo) -> None:
    """Raises ValueError for a member that would be unpacked outside the archive's folder, or is a
    link."""
    name = PurePosixPath(member.filename)
    linked = stat.S_ISLNK(member.external_attr >> 16)
    if linked or name.is_absolute() or ".." in name.parts:
        raise ValueError(f"a member {member.filename!r} that leads out of it")


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
