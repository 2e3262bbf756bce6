"""Reads the history of a run."""

import csv
import math


def history(folder):
    """The rows of history.csv: numbers, and texts in columns that have no numbers."""
    with (folder / "history.csv").open(encoding="utf-8") as file:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value(text):
    try:
        return float(text)
    except ValueError:
        return text if text else math.nan
