"""Names that the modules of the sequence-to-sequence task share."""

SOURCE, TOKENS, LOGITS = "source", "tokens", "logits"
TARGET_TOKENIZER, SOURCE_TOKENIZER = "tokenizer", "source_tokenizer"
"""Names of the vocabularies; without the second, sources have the first."""
