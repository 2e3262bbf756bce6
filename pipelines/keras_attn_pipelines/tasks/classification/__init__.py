"""Classification of pictures and of texts."""

from keras_attn_pipelines.tasks.classification.digit_file import DigitFile
from keras_attn_pipelines.tasks.classification.labeled_pictures import LabeledPictures
from keras_attn_pipelines.tasks.classification.labeled_texts import LabeledTexts
from keras_attn_pipelines.tasks.classification.settings import (
    Classification,
    DistortedDigits,
    TextClassification,
)
from keras_attn_pipelines.tasks.classification.spatial_transformer import (
    DigitSpatialTransformer,
    OwnNetwork,
    SpatialTransformer,
    SpatialTransforms,
)
from keras_attn_pipelines.tasks.classification.text_classifier import TextEncoder
from keras_attn_pipelines.tasks.classification.vision_transformer import VisionTransformer

__all__ = [
    "Classification",
    "DigitFile",
    "DigitSpatialTransformer",
    "DistortedDigits",
    "LabeledPictures",
    "LabeledTexts",
    "OwnNetwork",
    "SpatialTransformer",
    "SpatialTransforms",
    "TextClassification",
    "TextEncoder",
    "VisionTransformer",
]
