"""The attention explorer, a self-contained page of HTML."""

from keras_attn.viz.explorer.page import ExplorerPage
from keras_attn.viz.explorer.views import PictureView, SamplingView, ShadedView, TokenView

__all__ = ["ExplorerPage", "PictureView", "SamplingView", "ShadedView", "TokenView"]
