"""The attention explorer, a self-contained page of HTML."""

from keras_attn.viz.explorer.page import ExplorerPage

__all__ = ["ExplorerPage"]
