"""Image captioning."""

from keras_attn_pipelines.experiment.picture_encoders import (
    Applications,
    EfficientNetLite0,
    EfficientNetLite2,
    EncoderTuning,
    KerasHub,
    PatchTransformer,
    SmallConv,
)
from keras_attn_pipelines.tasks.captioning.captioned_pictures import CaptionedPictures
from keras_attn_pipelines.tasks.captioning.recurrent import ShowAttendTell
from keras_attn_pipelines.tasks.captioning.settings import Captioning
from keras_attn_pipelines.tasks.captioning.transformer import CaptionTransformer

__all__ = [
    "Applications",
    "CaptionTransformer",
    "CaptionedPictures",
    "Captioning",
    "EfficientNetLite0",
    "EfficientNetLite2",
    "EncoderTuning",
    "KerasHub",
    "PatchTransformer",
    "ShowAttendTell",
    "SmallConv",
]
