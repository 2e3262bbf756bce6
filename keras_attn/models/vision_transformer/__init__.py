"""The Vision Transformer, and pictures classified by it."""
