"""How the texts of algorithmic problems are written."""

from typing import NamedTuple

COPY, REPEAT_COPY, ASSOCIATIVE_RECALL, PRIORITY_SORT, SHORTEST_PATH = PROBLEMS = (
    "copy",
    "repeat_copy",
    "associative_recall",
    "priority_sort",
    "shortest_path",
)
END_WORD = "."
"""Word that ends an answer, in problems whose answers end by themselves."""
PRIORITY = r"-?[0-9]\.[0-9]{1,6}"


class Form(NamedTuple):
    """How the source of a problem is written; a W stands for a word of bits.

    Attributes:
        pattern: regular expression of RE2.
        words: what it consists of, in words.
        example: a text of that form.
    """

    pattern: str
    words: str
    example: str

    def regex(self, bits: int) -> str:
        """The pattern for words of some bits."""
        return self.pattern.replace("W", f"[01]{{{bits}}}")

    def example_of(self, bits: int) -> str:
        """The example with words of some bits."""
        return self.example.replace("W", ("01" * bits)[:bits])

    def described(self, bits: int) -> str:
        """What is expected, for messages."""
        return f"{self.words}, of {bits} bits each, such as {self.example_of(bits)!r}"


FORMS = {
    COPY: Form("W( W)*", "words", "W W"),
    REPEAT_COPY: Form("W( W)* x[1-9][0-9]?", "words, then x and the number of copies", "W W x2"),
    ASSOCIATIVE_RECALL: Form(
        r"W( W)*( \| W( W)*)* \? W( W)*",
        "items of words with | between them, then ? and the item before the wanted one",
        "W W | W W ? W W",
    ),
    PRIORITY_SORT: Form(
        f"W:{PRIORITY}( W:{PRIORITY})* x[1-9][0-9]{{0,2}}",
        "words with priorities, then x and how many to return, highest priority first",
        "W:-0.25 W:0.7 x2",
    ),
    SHORTEST_PATH: Form(
        r"W-W( W-W)* \? W-W",
        "edges between nodes, then ? and the nodes to connect, which are words",
        "W-W W-W ? W-W",
    ),
}
