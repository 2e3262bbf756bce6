"""Benchmarks, which compute with oneDNN on every processor, as `keras-attn` does."""

import os

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
