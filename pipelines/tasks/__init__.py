"""Tasks, one folder each: its sources, features, models, scores and services."""
