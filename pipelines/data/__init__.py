"""Readers, splits, checks and batches: data as plain values."""
