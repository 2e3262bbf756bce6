"""Checks of a command's arguments before TensorFlow is imported, which takes seconds."""

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from keras_attn.cluster import MULTIWORKER, Cluster
from keras_attn.contracts import METADATA_FILE
from keras_attn.saved.bundled import model_folder
from keras_attn.saved.picture_paths import expand_pictures, path_error
from keras_attn.saved.versions import version_folder
from keras_attn.tpu_package import TPU, check_tpu_package
from keras_attn.untrusted import read_json
from keras_attn.whole_file import check_folder
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.sharded import find_records
from keras_attn_pipelines.experiment.stored import DESCRIPTION_FILE

BACKENDS = ("tensorflow", "jax")
"""Keras backends that train."""


def check_training(
    experiment: Experiment, data, out, name: str, strategy: str, cache, started: bool
) -> None:
    """Raises ValueError or OSError for what `train` cannot begin with.

    Args:
        experiment: `Experiment`.
        data: see `train`.
        out: see `train`.
        name: see `train`.
        strategy: see `train`.
        cache: see `train`.
        started: whether the training starts from the weights of another one, whose settings
            `experiment` may still lack.
    """
    backend = os.environ.get("KERAS_BACKEND") or BACKENDS[0]
    if backend not in BACKENDS:
        raise ValueError(f"Expected a KERAS_BACKEND of {BACKENDS}. Received: {backend!r}")
    if strategy == MULTIWORKER:
        Cluster.read()
    rank = getattr(experiment.optimizer, "lora", 0)
    if rank and not started:
        raise ValueError(
            "Expected --from with --lora, which updates weights that are already trained. "
            f"Received: lora={rank} without --from"
        )
    if strategy == TPU and backend == BACKENDS[0]:
        check_tpu_package()
    check_data(data)
    check_writable_folder(out)
    if cache is not None:
        check_writable_folder(cache)
    if not started:
        experiment.check_start(name)
        if Path(data).exists():
            find_records(experiment.source, data)


def check_parent(path, *inputs) -> None:
    """Raises ValueError or OSError for a file that cannot be written, such as in a folder that does
    not exist."""
    path = Path(path)
    if path.exists() and not path.is_file():
        kind = "the folder" if path.is_dir() else "a device or a pipe,"
        raise ValueError(f"Expected a file to write. Received: {kind} {path}")
    if path.exists() and any(_holds(given, path) for given in inputs):
        raise ValueError(f"Expected a file to write that is no input. Received: {path}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"Expected a file in a folder that exists. Received: {path}")
    try:
        tempfile.TemporaryFile(dir=path.absolute().parent).close()
    except OSError as error:
        raise OSError(f"Expected to write {path}. Received: {error.strerror or error}") from error


def check_new_recipe(path) -> None:
    """Raises ValueError or OSError for a recipe file that is there already, cannot be written, or
    has a name that is none of a .py file."""
    name = Path(path).name
    if not re.fullmatch(r"[\w-]+\.py", name):
        raise ValueError(
            f"Expected a .py file with a name of letters, digits, _ and -. Received: {path}"
        )
    if os.path.lexists(path):
        raise ValueError(f"Expected a new file. Received: {path}, which is there already")
    check_parent(path)


def _holds(given, path):
    """Whether an input is an existing file, or a folder above it."""
    if not os.path.exists(given):
        return False
    place = path.resolve()
    return any(folder.samefile(given) for folder in (place, *place.parents))


def has_saved_model(folder) -> bool:
    """Whether a folder holds a SavedModel or numbered versions of one."""
    patterns = ("saved_model.pb", "*/saved_model.pb")
    return any(any(Path(folder).glob(pattern)) for pattern in patterns)


def run_or_saved_model(named) -> Path:
    """The folder of a run or of a SavedModel, or of the bundled model of that name.

    Raises:
        ValueError: nothing there.
    """
    try:
        return model_folder(named)
    except ValueError as error:
        raise ValueError(
            f"Expected a run directory or a SavedModel. Received: {named}, no such folder"
        ) from error


def check_saved_model(named) -> None:
    """Raises ValueError for a path without a SavedModel; names what a run needs first."""
    folder = model_folder(named)
    if has_saved_model(folder):
        return
    if (folder / DESCRIPTION_FILE).is_file():
        received = f"{folder}, a run; export it: keras-attn export {folder} saved_models/NAME"
    else:
        received = str(folder)
    raise ValueError(f"Expected a SavedModel or numbered versions of one. Received: {received}")


def check_run(folder) -> None:
    """Raises ValueError for a path without a run."""
    if not (Path(folder) / DESCRIPTION_FILE).is_file():
        received = "a SavedModel" if has_saved_model(folder) else "no run"
        received = received if Path(folder).exists() else "no such folder"
        raise ValueError(f"Expected a run directory. Received: {folder}, {received}")


def check_pictures(named, given: Sequence[str]) -> None:
    """Raises ValueError for inputs of a SavedModel of pictures none of which is there.

    Args:
        named: see `check_saved_model`.
        given: paths, folders and patterns.
    """
    version = version_folder(model_folder(named))
    metadata = version / METADATA_FILE
    if metadata.is_file() and "image_size" in read_json(metadata):
        errors = [(path, path_error(path)) for path in expand_pictures(given)]
        if errors and all(error for _, error in errors):
            path, error = errors[0]
            raise ValueError(f"Expected a picture. Received: {path}, {error}")


def has_data(path) -> bool:
    """Whether a path of data exists, or is the name of a data set."""
    return ":" in str(path).split("/")[0] or Path(path).exists()


def check_data(path) -> None:
    """Raises ValueError for a path of data where there is nothing."""
    if not has_data(path):
        raise ValueError(f"Expected data at {path}. Received: no such file or folder")


def check_movable_folder(path) -> None:
    """`check_writable_folder` for a folder that is written beside its place and moved there."""
    if Path(path).is_symlink():
        raise ValueError(f"Expected a new folder. Received: {path}, a link")
    check_writable_folder(path, Path(path).absolute().parent)


def check_writable_folder(path, begin=None) -> None:
    """Raises ValueError or OSError for a folder that cannot be written; leaves no new folder.

    Args:
        path: of the folder.
        begin: folder from which on something is written, if that is not `path`.
    """
    check_folder(path)
    begin = Path(begin or path).absolute()
    folders = (begin, *begin.parents)
    nearest = next(folder for folder in folders if folder.exists())
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"Expected a folder at {path}, to write to. Received: {reason}") from error


def check_inputs_file(path) -> None:
    """Raises ValueError for a file of inputs that is not there."""
    if path and path != "-" and not Path(path).is_file():
        raise ValueError(f"Expected a file of inputs. Received: {path}, no such file")


def check_text_file(path) -> None:
    """Raises ValueError for a text file that is not there; None is none."""
    if path is not None and not Path(path).is_file():
        received = "a folder" if Path(path).is_dir() else "no such file"
        raise ValueError(f"Expected a text file. Received: {path}, {received}")
