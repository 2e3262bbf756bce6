"""Checkpoints of other frameworks as models of this package; one file for each architecture."""

from keras_attn.pretrained.vision_transformer import load_image_classifier, load_vision_transformer

__all__ = ["load_image_classifier", "load_vision_transformer"]
