"""Checkpoints of other frameworks as models of this package; one file for each architecture."""

from keras_attn.pretrained.captioners import load_captioner
from keras_attn.pretrained.dual_encoders import load_dual_encoder
from keras_attn.pretrained.loading import load
from keras_attn.pretrained.marian_folder import save_marian
from keras_attn.pretrained.text_encoders import load_text_encoder
from keras_attn.pretrained.translators import load_translator
from keras_attn.pretrained.vision_transformer import (
    load_image_classifier,
    load_picture_format,
    load_vision_transformer,
)

__all__ = [
    "load",
    "load_captioner",
    "load_dual_encoder",
    "load_image_classifier",
    "load_picture_format",
    "load_text_encoder",
    "load_translator",
    "load_vision_transformer",
    "save_marian",
]
