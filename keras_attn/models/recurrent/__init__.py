"""Recurrent encoders and decoders with attention."""
