"""Names shared by the sequence-to-sequence task."""

SOURCE, TOKENS, LOGITS = "source", "tokens", "logits"
TARGET_TOKENIZER, SOURCE_TOKENIZER = "tokenizer", "source_tokenizer"
"""Names of the vocabularies; without the second, both sides share the first."""
