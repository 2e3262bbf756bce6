"""Asking any SavedModel."""
