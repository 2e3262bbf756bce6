"""Names shared by the parts of the task."""

SEQUENCE, LOGITS = "sequence", "logits"
SOURCE_WORDS, ANSWER_WORDS = "source_words", "answer_words"
"""Names of the vocabularies."""
EXACT = "exact"
"""Name of the metric that is the share of answers without an error."""
