"""Convolutional sequence to sequence learning."""
