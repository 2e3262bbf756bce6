"""Names shared by the parts of the task."""

STORY, QUESTION, LOGITS = "story", "question", "logits"
WORDS = "words"
"""Name of the vocabulary."""
