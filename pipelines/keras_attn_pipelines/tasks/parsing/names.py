"""Names shared by the parsing task."""

SOURCE, TOKENS, LOGITS, TAG_LOGITS = "source", "tokens", "logits", "tag_logits"
SYMBOLS, WORDS, TAGS = "tokenizer", "source_tokenizer", "tags"
"""Names of the vocabularies: of the trees' symbols, the words' pieces and the tags."""
