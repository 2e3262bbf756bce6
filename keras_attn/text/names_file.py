"""Names in the order of their ids, in a JSON file: how tables of symbols and labels are kept."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras_attn.whole_file import made_folder, whole_file


def load_names(folder, unit: str, make: Callable[[list], Any]) -> Any:
    """Reads what `save_names` wrote.

    Args:
        folder: path.
        unit: what the names are, in the plural.
        make: what is made of them; it raises ValueError for bad ones.

    Raises:
        ValueError: the folder holds no such names, or damaged ones.
    """
    path = _file(folder, unit)
    try:
        names = json.loads(path.read_text(encoding="utf-8"))[unit]
        if not isinstance(names, list):
            raise TypeError(f"no list but {names!r:.40}")
        return make(names)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Expected {unit} in {path}. Received: {type(error).__name__}: {error}"
        ) from error


def save_names(folder, unit: str, names: Sequence[str]) -> None:
    """Writes names into a folder."""
    with whole_file(_file(made_folder(folder), unit)) as partial:
        text = json.dumps({unit: names}, ensure_ascii=False)
        partial.write_text(text + "\n", encoding="utf-8")


def _file(folder, unit):
    return Path(folder) / f"{unit}.json"
