"""Attention models for images and text in Keras 3."""

__version__ = "0.1.0"
