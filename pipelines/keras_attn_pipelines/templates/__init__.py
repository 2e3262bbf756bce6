"""Recipe files to begin one's own with, which `keras-attn new` copies."""

from pathlib import Path

KINDS = ("tagging", "regression", "classification")
"""Names of the templates."""
FILE = "my_task.py"
"""What their docstrings call the file."""


def template_source(kind: str) -> str:
    """The source of a template, one of `KINDS`, read without importing it."""
    return Path(__file__).with_name(f"{kind}.py").read_text(encoding="utf-8")
