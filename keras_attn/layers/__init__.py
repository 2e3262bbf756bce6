"""Attention mechanisms as Keras layers; none needs tensorflow-text."""

from keras_attn.layers.additive_attention import AdditiveAttention
from keras_attn.layers.dot_attention import DotAttention
from keras_attn.layers.general_attention import GeneralAttention
from keras_attn.layers.multiplicative_attention import MultiplicativeAttention
from keras_attn.layers.scaled_dot_attention import ScaledDotAttention

__all__ = [
    "AdditiveAttention",
    "DotAttention",
    "GeneralAttention",
    "MultiplicativeAttention",
    "ScaledDotAttention",
]
