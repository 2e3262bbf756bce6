"""Names shared by the data-to-text task."""

SOURCE, TOKENS, LOGITS = "source", "tokens", "logits"
TOKENIZER, FIELDS = "tokenizer", "fields"
"""Names of the vocabularies."""
SOURCE_COLUMNS = 7
"""Columns of SOURCE, see `FactTokens`."""
