"""The user's cache folder."""

import os
from pathlib import Path


def user_cache() -> Path:
    """`keras-attn` in XDG_CACHE_HOME, or in ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "keras-attn"
