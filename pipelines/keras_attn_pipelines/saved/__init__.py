"""Inference with any exported SavedModel."""
