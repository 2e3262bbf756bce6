"""Names by their ids, in the graph and on disk: what label and symbol tables have in common."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from keras_attn.lazy_tensorflow import tf
from keras_attn.text.graph_object import GraphObject
from keras_attn.untrusted import naming_damage, read_json
from keras_attn.whole_file import made_folder, whole_file


class NameTable(GraphObject):
    """Abstract: names with consecutive ids.

    Args:
        names: strings, each once, in the order of their ids.

    Attributes:
        unit: what the names are called, in the plural; also the name of their file.
        first_id: int. Id of the first name.
        pattern: regular expression of a name.
        rule: what the pattern requires, in words.

    Raises:
        ValueError: no name, one twice, or one that breaks the rule.
    """

    unit: ClassVar[str]
    first_id: ClassVar[int]
    pattern: ClassVar[str]
    rule: ClassVar[str]

    def __init__(self, names: Sequence[str]):
        super().__init__()
        self.names = tuple(names)
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError(f"Expected {self.unit}, each once. Received: {self.names}")
        if bad := [name for name in self.names if not re.fullmatch(self.pattern, name)]:
            raise ValueError(f"Expected {self.unit} {self.rule}. Received: {bad[:5]}")
        self.vocabulary_size = self.first_id + len(self.names)
        self._ids = {name: self.first_id + index for index, name in enumerate(self.names)}

    def equals(self, other) -> bool:
        """Whether the other has the same ids."""
        return type(other) is type(self) and self.names == other.names

    def id_of(self, name: str) -> int | None:
        """The id of a name; None if it is not in the table."""
        return self._ids.get(name)

    def pieces(self, ids):
        """Ids, int32 (...), to their names, string (...); '' for ids without a name."""
        ids = tf.convert_to_tensor(ids, tf.int32)
        is_name = (ids >= self.first_id) & (ids < self.vocabulary_size)
        places = tf.where(is_name, ids - self.first_id + 1, 0)
        return tf.gather(tf.constant(["", *self.names]), places)

    @classmethod
    def load(cls, folder):
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no such table, or a damaged one.
        """
        path = Path(folder) / f"{cls.unit}.json"
        with naming_damage(f"{cls.unit} in {path}"):
            names = read_json(path, cls.unit)[cls.unit]
            if not isinstance(names, list):
                raise TypeError(f"no list but {names!r:.40}")
            return cls(names)

    def save(self, folder) -> None:
        """Writes the table into a folder."""
        with whole_file(made_folder(folder) / f"{self.unit}.json") as partial:
            text = json.dumps({self.unit: self.names}, ensure_ascii=False)
            partial.write_text(text + "\n", encoding="utf-8")
