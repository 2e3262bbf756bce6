"""Captioners: decoders that attend to the features of a picture."""
