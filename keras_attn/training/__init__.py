"""Training: losses, optimizers, schedules, callbacks, stages, and where to train."""

import lazy_loader

from keras_attn.public_names import public_names
from keras_attn.training.averaging import AverageModel, average_models, average_weights
from keras_attn.training.bit_losses import BitCrossEntropy, BitsPerSequence, ExactSequences
from keras_attn.training.callbacks import (
    AttentionImages,
    BestModel,
    EpochLog,
    FiniteLoss,
    GenerationMetrics,
)
from keras_attn.training.contrastive_loss import ContrastiveLoss
from keras_attn.training.devices import (
    jit_compile_for,
    precision_policy,
    strategy_for,
    strategy_named,
)
from keras_attn.training.gold_shares import ExponentialShare, InverseSigmoidShare, LinearShare
from keras_attn.training.linear_start import LinearStart
from keras_attn.training.loss_scale import LossScaled, scaled_for
from keras_attn.training.losses import TokenCrossEntropy
from keras_attn.training.model_file import read_model_file
from keras_attn.training.muon import ClippedMuon
from keras_attn.training.optimizers import ClippedAdam, ClippedSGD, paper_adam
from keras_attn.training.regularized_dropout import RegularizedDropout
from keras_attn.training.resume import Checkpoint
from keras_attn.training.scheduled_sampling import ScheduledSampling
from keras_attn.training.schedules import (
    InverseSquareRoot,
    paper_schedule,
    staircase,
    warmup_cosine,
)
from keras_attn.training.self_critical import SelfCritical
from keras_attn.training.teacher_forcing import TeacherForcing, append_end, teacher_forcing
from keras_attn.training.token_accuracy import TokenAccuracy
from keras_attn.training.training_progress import TrainingProgress
from keras_attn.training.training_stage import TrainingStage, trained_model
from keras_attn.training.transformer_layout import transformer_layout
from keras_attn.training.workers import Workers

# It derives from a class of TensorFlow.
_LATER = {"multi_worker_strategy": ["MultiWorkerStrategy"]}
__getattr__, _, _ = lazy_loader.attach(__name__, submod_attrs=_LATER)
__all__ = sorted([*public_names(globals()), *_LATER["multi_worker_strategy"]])
