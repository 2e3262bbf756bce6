"""The names of classes, in the graph."""

from collections.abc import Sequence

import tensorflow as tf

from keras_attn.text.names_file import load_names, save_names


class LabelTable(tf.Module):
    """Labels of classes by their ids, from 0 on.

    Args:
        labels: strings that are not blank, each once; the first has id 0.

    Raises:
        ValueError: no label, one twice, or a blank one.

    Example:
        >>> table = LabelTable(["cat", "small dog"])
        >>> table.id_of("small dog")
        1
        >>> table.names([[1, 0]]).numpy().tolist()
        [[b'small dog', b'cat']]
    """

    unit = "labels"

    def __init__(self, labels: Sequence[str]):
        super().__init__()
        self.labels = tuple(labels)
        if not self.labels or len(set(self.labels)) < len(self.labels):
            raise ValueError(f"Expected labels, each once. Received: {self.labels}")
        if bad := [one for one in self.labels if not one.strip()]:
            raise ValueError(f"Expected labels that are not blank. Received: {bad[:5]}")
        self.vocabulary_size = len(self.labels)
        self._ids = {label: index for index, label in enumerate(self.labels)}

    def equals(self, other) -> bool:
        """Whether the other has the same ids."""
        return isinstance(other, LabelTable) and self.labels == other.labels

    def id_of(self, label: str) -> int | None:
        """The id of a label; None where it is not in the table."""
        return self._ids.get(label)

    def names(self, ids):
        """Ids, int32 (...) from 0 to the last label's, to labels, string (...)."""
        return tf.gather(tf.constant(self.labels), ids)

    @classmethod
    def load(cls, folder) -> "LabelTable":
        """Reads what `save` wrote.

        Raises:
            ValueError: the folder holds no labels, or damaged ones.
        """
        return load_names(folder, cls.unit, cls)

    def save(self, folder) -> None:
        """Writes the labels into a folder."""
        save_names(folder, self.unit, self.labels)
