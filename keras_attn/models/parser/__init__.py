"""Constituency parsing: brackets from the decoder, tags from the encoder."""
