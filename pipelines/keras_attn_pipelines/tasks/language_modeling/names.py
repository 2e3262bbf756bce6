"""Names shared by the parts of the task."""

SOURCE, LOGITS = "source", "logits"
WORDS = "words"
"""Name of the vocabulary."""
