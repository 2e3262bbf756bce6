"""Vocabularies that a captioner may have."""

LEARNED, BYTE_PAIRS, WORD_PIECES = "learned", "byte_pairs", "word_pieces"
"""Learned from the captions here, or GPT-2's or BERT's of an imported model."""
