"""Python code of the README and of the documentation's pages."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"```(?:python|\{code-cell\} ipython3)\n(.*?)```", re.DOTALL)


def blocks(page):
    """Code of the page at a path relative to the project's root, a string a block."""
    return FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
