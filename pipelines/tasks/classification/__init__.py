"""Image classification."""

from keras_attn_pipelines.tasks.classification.classification import Classification
from keras_attn_pipelines.tasks.classification.digit_file import DigitFile
from keras_attn_pipelines.tasks.classification.distorted_digits import DistortedDigits
from keras_attn_pipelines.tasks.classification.labeled_pictures import LabeledPictures
from keras_attn_pipelines.tasks.classification.spatial_transformer import (
    DigitSpatialTransformer,
    SpatialTransformer,
    SpatialTransforms,
)
from keras_attn_pipelines.tasks.classification.vision_transformer import VisionTransformer

__all__ = [
    "Classification",
    "DigitFile",
    "DigitSpatialTransformer",
    "DistortedDigits",
    "LabeledPictures",
    "SpatialTransformer",
    "SpatialTransforms",
    "VisionTransformer",
]
