"""Texts classified by a pooled vector."""
