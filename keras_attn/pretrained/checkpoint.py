"""A checkpoint of transformers: its settings, checked one by one, and the files beside them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from keras_attn.pretrained.files import read_settings

GENERATION = "generation_config.json"
NAMES_OF_TYPES = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}


@dataclass(frozen=True)
class Checkpoint:
    """What the files of a checkpoint say.

    Attributes:
        path: path of the file with the weights.
        tensors: name -> NumPy array.
        settings: contents of config.json.
        generation: contents of generation_config.json; {} without one.
        what: what it is, for messages.
    """

    path: Path
    tensors: Mapping[str, np.ndarray]
    settings: Mapping[str, Any]
    generation: Mapping[str, Any]
    what: str = "a translator"

    @classmethod
    def of(cls, files, what="a translator"):
        """The checkpoint of `CheckpointFiles`."""
        generation = read_settings(files.path.with_name(GENERATION))
        return cls(files.path, files.tensors, files.settings, generation, what)

    def part(self, name: str) -> "Checkpoint":
        """The checkpoint with the settings of a part, such as its encoder.

        Raises:
            ValueError: config.json has no object of that name.
        """
        settings = self.settings.get(name)
        if not isinstance(settings, dict):
            raise self.refusal(f"no settings of its {name} in config.json")
        return replace(self, settings=settings)

    def check_settings(self, expected: Mapping[str, tuple]) -> None:
        """Raises ValueError for a setting with another value than the known ones, of which the
        first stands for a missing one."""
        for name, known in expected.items():
            value = self.settings.get(name, known[0])
            if not any(type(value) is type(one) and value == one for one in known):
                listed = " or ".join(map(repr, known))
                raise self.refusal(f"{name}={value!r:.80} in config.json, not {listed}")

    @property
    def folder(self) -> Path:
        """The folder of the weights, where the vocabularies are, too."""
        return self.path.parent

    def setting(self, name: str, kind: type, default=None):
        """A setting of config.json.

        Args:
            name: key.
            kind: int, float, bool or str.
            default: value where it is missing; None: it must be there.

        Raises:
            ValueError: missing, or of another type.
        """
        value = self.settings.get(name)
        if value is None and default is not None:
            return default
        is_flag = isinstance(value, bool)
        kinds = (int, float) if kind is float else kind
        if not isinstance(value, kinds) or is_flag != (kind is bool):
            where = os.fspath(self.path.with_name("config.json"))
            raise ValueError(
                f"Expected {name} in {where!r} to be {NAMES_OF_TYPES[kind]}. Received: {value!r}"
            )
        return value

    def search(self, name: str, default=None):
        """How answers are searched for: of generation_config.json, or of config.json, where earlier
        versions of transformers kept it; `default` where it is missing."""
        known = (settings.get(name) for settings in (self.generation, self.settings))
        return next((value for value in known if value is not None), default)

    def refusal(self, reason: str) -> ValueError:
        """The error for a checkpoint that cannot be read as it is meant."""
        return ValueError(
            f"Expected {self.what} of known kind in {os.fspath(self.folder)!r}. Received: {reason}"
        )
