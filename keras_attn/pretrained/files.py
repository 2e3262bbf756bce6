"""Finds and reads the files of a pretrained model, local or from the Hugging Face hub."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_attn.extras import extra
from keras_attn.torch_state_dict import read_state_dict
from keras_attn.untrusted import naming_damage, read_arrays, read_json

SETTINGS, PREPROCESSING = "config.json", "preprocessor_config.json"
_PROCESSOR = "processor_config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
SHARDS = "model.safetensors.index.json"
BESIDE = ("*.json", "*.spm", "*.model", "*.yml", "merges.txt", "vocab.txt")
"""What may belong to a model beside its weights: settings, vocabularies and tokenizers."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


class CheckpointFiles(NamedTuple):
    """The contents of a checkpoint's files.

    Attributes:
        path: path of the file with the weights.
        tensors: name -> NumPy array, as in the file.
        settings: contents of config.json beside a file with torch names; {} without one.
        preprocessing: likewise for preprocessor_config.json, or for the image_processor in
            processor_config.json.
    """

    path: Path
    tensors: dict[str, np.ndarray]
    settings: dict[str, Any]
    preprocessing: dict[str, Any]


def read_checkpoint_files(source):
    """Reads the files of a checkpoint; nothing in them can run code.

    Args:
        source: path of a `.safetensors`, `.npz`, `.bin` or `.pth` file, or of a folder with
            model.safetensors, also in parts, pytorch_model.bin or one `.npz`; or, if no such file
            or folder exists, the name of a model on the Hugging Face hub
            ("google/vit-base-patch16-224") with one of the first two, which is downloaded or taken
            from the hub's cache. `CheckpointFiles` are returned as they are.

    Returns:
        `CheckpointFiles`.

    Raises:
        ImportError: safetensors or huggingface_hub is needed but not installed.
        OSError: a hub name that could not be downloaded.
        ValueError: no such file, folder or name; a damaged file or one of another kind.
    """
    if isinstance(source, CheckpointFiles):
        return source
    path = _weights_path(Path(source).expanduser(), os.fspath(source))
    tensors = _read_parts(path) if path.name == SHARDS else read_tensors(path)
    if path.suffix == ".npz":
        return CheckpointFiles(path, tensors, {}, {})
    settings, preprocessing = (
        read_settings(path.with_name(name)) for name in (SETTINGS, PREPROCESSING)
    )
    if not preprocessing:  # As transformers 5 writes it for processors of pictures and texts.
        own = read_settings(path.with_name(_PROCESSOR)).get("image_processor")
        preprocessing = own if isinstance(own, dict) else {}
    return CheckpointFiles(path, tensors, settings, preprocessing)


def read_tensors(path):
    """name -> array of a `.safetensors`, `.npz` or torch file; bfloat16 comes as float32.

    Raises:
        ImportError: a `.safetensors` file without the package safetensors.
        ValueError: damaged, or of another kind, with the file's path.
    """
    if path.suffix not in (".safetensors", ".npz"):
        return read_state_dict(path)
    read = _read_safetensors if path.suffix == ".safetensors" else read_arrays
    with naming_damage(f"a whole {path.suffix} file at {os.fspath(path)!r}"):
        return {name: _as_float(array) for name, array in read(path).items()}


def _read_safetensors(path):
    with extra("pretrained"):
        from safetensors.numpy import load_file
    return load_file(path)


def _as_float(array):
    """Converts bfloat16, untyped two-byte elements in NumPy, to float32."""
    if array.dtype.kind != "V":
        return array
    if array.dtype.itemsize != 2:
        raise ValueError(f"an array of type {array.dtype}")
    return (np.ascontiguousarray(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def _weights_path(path, source):
    """The file with the weights."""
    if path.is_file():
        return path
    if path.is_dir():
        return _weights_in(path)
    if _HUB_NAME.fullmatch(source) and path.suffix not in (".safetensors", ".npz", ".bin", ".pth"):
        return _weights_in(_download(source))
    raise ValueError(
        "Expected a file, a folder or the name OWNER/MODEL of a model on the Hugging Face hub. "
        f"Received: {source!r}"
    )


def _read_parts(index):
    """name -> array of weights that are spread over several files beside their index."""
    with naming_damage(f"the names of files by tensor in {os.fspath(index)!r}"):
        files = read_json(index)["weight_map"]
        for name in set(files.values()):
            if Path(name).name != name or not name.endswith(".safetensors"):
                raise ValueError(f"{name!r}, which is no .safetensors file beside it")
    tensors: dict[str, np.ndarray] = {}
    for name in sorted(set(files.values())):
        if not index.with_name(name).is_file():
            raise ValueError(
                f"Expected {name} beside {os.fspath(index)!r}. Received: no such file; a download "
                "may not have ended"
            )
        tensors |= read_tensors(index.with_name(name))
    if missing := sorted(set(files) - set(tensors)):
        raise ValueError(
            f"Expected the tensors that {os.fspath(index)!r} names. "
            f"Received: files without {', '.join(missing[:5])}"
        )
    return tensors


def _weights_in(folder):
    present = [folder / name for name in (SHARDS, *WEIGHTS) if (folder / name).is_file()]
    present = present[:1] or sorted(folder.glob("*.npz"))
    if len(present) != 1:
        raise ValueError(
            f"Expected {', '.join(WEIGHTS)} or one .npz file in {os.fspath(folder)!r}. "
            f"Received: {sorted(entry.name for entry in folder.iterdir())}"
        )
    return present[0]


def _download(name):
    """The folder in the hub's cache."""
    with extra("pretrained"):
        import huggingface_hub
    try:
        safe = ["model*.safetensors", *BESIDE]
        folder = Path(huggingface_hub.snapshot_download(name, allow_patterns=safe))
        if not any(folder.glob("model*.safetensors")):  # Many models have torch's file alone.
            huggingface_hub.snapshot_download(name, allow_patterns=[WEIGHTS[1], *BESIDE])
        return folder
    except Exception as error:  # The hub's client raises errors of many libraries.
        raise OSError(
            f"Expected a file, a folder or a model on the Hugging Face hub. Received: {name!r}, "
            f"which is not a file or folder here, and from the hub: {error}. Without a network, "
            f"copy the files of https://huggingface.co/{name}/tree/main into a folder and name it"
        ) from error


def read_settings(path):
    """The object in a JSON file; {} where there is no such file.

    Raises:
        ValueError: damaged, or no object.
    """
    if not path.is_file():
        return {}
    settings = read_json(path)
    if not isinstance(settings, dict):
        raise ValueError(
            f"Expected an object in {os.fspath(path)!r}. Received: a {type(settings).__name__}"
        )
    return settings
