"""Experiments composed of a source, a task, a model, an optimizer and a fit."""

from keras_attn_pipelines.data.feature import Feature
from keras_attn_pipelines.data.training_data import Records, TrainingData
from keras_attn_pipelines.experiment.beam_search import BeamSearch
from keras_attn_pipelines.experiment.evaluation import Evaluation
from keras_attn_pipelines.experiment.experiment import Experiment
from keras_attn_pipelines.experiment.fields import choice, option, part
from keras_attn_pipelines.experiment.fit import Fit
from keras_attn_pipelines.experiment.location_sampling import LocationSampling
from keras_attn_pipelines.experiment.optimizer import SGD, Adam
from keras_attn_pipelines.experiment.parts import (
    Built,
    Callbacks,
    Model,
    Objective,
    Optimizer,
    Request,
    Setting,
    Source,
    Task,
    TaskSpec,
    Work,
)
from keras_attn_pipelines.experiment.picture_encoders import (
    Applications,
    EfficientNetLite0,
    EfficientNetLite2,
    EncoderTuning,
    KerasHub,
    PatchTransformer,
    SmallConv,
)
from keras_attn_pipelines.experiment.picture_options import PictureOptions
from keras_attn_pipelines.experiment.pieces import Pieces
from keras_attn_pipelines.experiment.schedules import (
    Cosine,
    InverseSquareRoot,
    Schedule,
    Staircase,
)
from keras_attn_pipelines.experiment.scoring import CaptionScoring, TextScoring
from keras_attn_pipelines.experiment.split_shares import SplitShares
from keras_attn_pipelines.experiment.transformer_sizes import PretrainedSizes, TransformerSizes

__all__ = [
    "SGD",
    "Adam",
    "Applications",
    "BeamSearch",
    "Built",
    "Callbacks",
    "CaptionScoring",
    "Cosine",
    "EfficientNetLite0",
    "EfficientNetLite2",
    "EncoderTuning",
    "Evaluation",
    "Experiment",
    "Feature",
    "Fit",
    "InverseSquareRoot",
    "KerasHub",
    "LocationSampling",
    "Model",
    "Objective",
    "Optimizer",
    "PatchTransformer",
    "PictureOptions",
    "Pieces",
    "PretrainedSizes",
    "Records",
    "Request",
    "Schedule",
    "Setting",
    "SmallConv",
    "Source",
    "SplitShares",
    "Staircase",
    "Task",
    "TaskSpec",
    "TextScoring",
    "TrainingData",
    "TransformerSizes",
    "Work",
    "choice",
    "option",
    "part",
]
