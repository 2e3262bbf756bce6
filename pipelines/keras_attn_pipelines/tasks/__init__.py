"""Tasks, one folder each: sources, features, models, scores and services."""
