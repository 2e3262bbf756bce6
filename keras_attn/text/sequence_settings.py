"""Settings of sequences of words of bits, in memory and on disk."""

import json
from pathlib import Path
from typing import ClassVar

from keras_attn.text.graph_object import GraphObject
from keras_attn.untrusted import naming_damage, read_json
from keras_attn.whole_file import made_folder, whole_file


class SequenceSettings(GraphObject):
    """Abstract: settings of sequences of words of bits, which are kept in a file.

    Attributes:
        unit: plural noun for `vocabulary_size`.
        fields: names of the constructor's arguments.
        vocabulary_size: int. Width of a vector.
    """

    unit: ClassVar[str] = "channels"
    fields: ClassVar[tuple[str, ...]]
    vocabulary_size: int

    @property
    def settings(self) -> dict:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in self.fields}

    def equals(self, other) -> bool:
        """Whether the other reads or writes the same."""
        return type(other) is type(self) and self.settings == other.settings

    def save(self, folder) -> None:
        """Writes the settings into a folder."""
        with whole_file(made_folder(folder) / "sequence_words.json") as partial:
            partial.write_text(json.dumps(self.settings) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder):
        """Reads what `save` wrote.

        Raises:
            ValueError: missing or damaged settings.
        """
        path = Path(folder) / "sequence_words.json"
        with naming_damage(f"settings of words in {path}"):
            return cls(**read_json(path, "settings of words"))
