"""Metrics of the field."""

from keras_attn.evaluation.brackets import (
    BracketReport,
    SentenceBrackets,
    compare_brackets,
)
from keras_attn.evaluation.caption_metrics import caption_metrics
from keras_attn.evaluation.cider import ConsensusReward
from keras_attn.evaluation.fact_metrics import fact_metrics, mentioned_order
from keras_attn.evaluation.pointing import pointing_accuracy, points_at
from keras_attn.evaluation.right_branching import RightBranching
from keras_attn.evaluation.text_metrics import text_metrics, text_signatures
from keras_attn.evaluation.tokenization import caption_tokenization, text_tokenization

__all__ = [
    "BracketReport",
    "ConsensusReward",
    "RightBranching",
    "SentenceBrackets",
    "caption_metrics",
    "caption_tokenization",
    "compare_brackets",
    "fact_metrics",
    "mentioned_order",
    "pointing_accuracy",
    "points_at",
    "text_metrics",
    "text_signatures",
    "text_tokenization",
]
