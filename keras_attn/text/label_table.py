"""Labels of classes."""

from keras_attn.text.name_table import NameTable


class LabelTable(NameTable):
    """Labels of classes by their ids, from 0 on.

    Args:
        names: the labels, strings that are not blank, each once.

    Raises:
        ValueError: no label, one twice, or a blank one.

    Example:
        >>> table = LabelTable(["cat", "small dog"])
        >>> table.id_of("small dog")
        1
        >>> table.pieces([[1, 0]]).numpy().tolist()
        [[b'small dog', b'cat']]
    """

    unit = "labels"
    first_id = 0
    pattern = r"(?s).*\S.*"
    rule = "that are not blank"
